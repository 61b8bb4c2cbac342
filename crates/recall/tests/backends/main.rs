//! Sources with something behind them: on memory, files, SQLite and PostgreSQL.

mod fixture;
mod vectors;
