//! What stands on the wire, and what is accepted from it.

#[cfg(test)]
mod activity_names;
#[cfg(test)]
mod argument;
#[cfg(test)]
mod defaults;
#[cfg(test)]
mod golden;
#[cfg(test)]
mod messages;
