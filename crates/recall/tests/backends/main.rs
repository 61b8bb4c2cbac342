//! Sources with something behind them: on memory, files, SQLite and PostgreSQL.

mod conditions;
mod facts;
mod file;
mod fixture;
mod foreign_rows;
mod hybrid;
mod identity;
mod in_part;
mod journal;
mod leaky_store;
mod notes;
mod odd_store;
mod queries;
mod scratchpad;
mod stores;
mod tenants;
mod tool;
mod transcript;
mod vectors;
mod writes;
