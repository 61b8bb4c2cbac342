mod exchanges;
mod planning;
mod policies;
mod random;
mod summaries;
