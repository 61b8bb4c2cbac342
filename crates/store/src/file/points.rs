//! Places where a test can make the process die. They exist with the feature `fault-points` alone,
//! which release builds don't have.

/// The text is beside the note, and the journal doesn't know of it.
pub(super) const WRITTEN: &str = "written";
/// The journal knows what is about to be done.
pub(super) const PREPARED: &str = "prepared";
/// The file is the new one, or gone.
pub(super) const REPLACED: &str = "replaced";
/// The receipt is there; nobody was told.
pub(super) const FINISHED: &str = "finished";

/// Passes a place. An armed one ends the process.
#[cfg(not(feature = "fault-points"))]
#[inline]
pub(super) fn reach(_point: &'static str) {}

#[cfg(feature = "fault-points")]
pub use armed::{POINTS, arm};

#[cfg(feature = "fault-points")]
pub(super) use armed::reach;

#[cfg(feature = "fault-points")]
mod armed {
    use std::sync::{Mutex, PoisonError};

    use super::{FINISHED, PREPARED, REPLACED, WRITTEN};

    /// Every place, in the order in which a mutation passes them.
    pub const POINTS: [&str; 4] = [WRITTEN, PREPARED, REPLACED, FINISHED];

    /// The armed place, and how many more passes it lets through.
    static ARMED: Mutex<Option<(String, u32)>> = Mutex::new(None);

    /// Arms a place for the life of the process: the pass after the first `passes` ends it with
    /// SIGKILL.
    pub fn arm(point: &str, passes: u32) {
        let mut armed = ARMED.lock().unwrap_or_else(PoisonError::into_inner);
        *armed = Some((point.to_owned(), passes));
    }

    /// Passes a place. An armed one ends the process.
    pub(in crate::file) fn reach(point: &'static str) {
        let mut armed = ARMED.lock().unwrap_or_else(PoisonError::into_inner);
        match armed.as_mut() {
            Some((name, 0)) if name == point => {
                // No handler, destructor or flush may run, as when a machine dies.
                let _ = rustix::process::kill_process(
                    rustix::process::getpid(),
                    rustix::process::Signal::KILL,
                );
            }
            Some((name, passes)) if name == point => *passes -= 1,
            _ => {}
        }
    }
}
