//! Small models of what the vectors observed, written from the documented rules and not from the
//! product's code.
//!
//! Each model has manners that can be switched. With the peer's manners it must reproduce every
//! expectation of its topics; with a difference switched on it says what our answer is. So a
//! difference is a rule about behaviour and never about single cases.

pub(crate) mod notebook;
pub(crate) mod search;
pub(crate) mod store;
pub(crate) mod text;
