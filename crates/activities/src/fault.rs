//! Fault points: named places where a test makes the process fail.
//!
//! They exist with the feature `fault-points` only, which release builds don't have. Without it
//! [`reach`] does nothing.

#[cfg(not(feature = "fault-points"))]
use crate::Failure;

/// In `write_memory`, before the store is asked.
pub(crate) const WRITE_BEFORE_COMMIT: &str = "write_memory.before_commit";
/// In `write_memory`, after the store has committed.
pub(crate) const WRITE_AFTER_COMMIT: &str = "write_memory.after_commit";
/// In `delete_memory`, after the store has committed.
pub(crate) const DELETE_AFTER_COMMIT: &str = "delete_memory.after_commit";
/// In `add_messages`, before the store is asked.
pub(crate) const ADD_MESSAGES_BEFORE_COMMIT: &str = "add_messages.before_commit";
/// In `add_messages`, after the store has committed.
pub(crate) const ADD_MESSAGES_AFTER_COMMIT: &str = "add_messages.after_commit";
/// In `clear_messages`, before the store is asked.
pub(crate) const CLEAR_MESSAGES_BEFORE_COMMIT: &str = "clear_messages.before_commit";
/// In `clear_messages`, after the store has committed.
pub(crate) const CLEAR_MESSAGES_AFTER_COMMIT: &str = "clear_messages.after_commit";
/// In `remember`, before the store is asked.
pub(crate) const REMEMBER_BEFORE_COMMIT: &str = "remember.before_commit";
/// In `remember`, after the store has committed.
pub(crate) const REMEMBER_AFTER_COMMIT: &str = "remember.after_commit";
/// In `forget`, before the store is asked.
pub(crate) const FORGET_BEFORE_COMMIT: &str = "forget.before_commit";
/// In `forget`, after the store has committed.
pub(crate) const FORGET_AFTER_COMMIT: &str = "forget.after_commit";
/// In `write_source`, before the source is asked.
pub(crate) const WRITE_SOURCE_BEFORE_COMMIT: &str = "write_source.before_commit";
/// In `write_source`, after the source has kept the items.
pub(crate) const WRITE_SOURCE_AFTER_COMMIT: &str = "write_source.after_commit";
/// In `load_snapshot`, after the notebook of a memory was read.
pub(crate) const SNAPSHOT_AFTER_READ: &str = "load_snapshot.after_read";

/// In `call_model`, before the model is asked.
pub(crate) const MODEL_BEFORE_REQUEST: &str = "call_model.before_request";
/// In `summarize_messages`, before the model is asked.
pub(crate) const SUMMARY_BEFORE_REQUEST: &str = "summarize_messages.before_request";

/// Passes a fault point. An armed one may fail, or end the process.
#[cfg(not(feature = "fault-points"))]
#[inline]
pub(crate) fn reach(_point: &'static str) -> Result<(), Failure> {
    Ok(())
}

#[cfg(feature = "fault-points")]
pub use armed::{InvalidFault, arm};

#[cfg(feature = "fault-points")]
pub(crate) use armed::reach;

#[cfg(feature = "fault-points")]
mod armed {
    use std::{
        fs::OpenOptions,
        io::ErrorKind,
        path::{Path, PathBuf},
        sync::{Mutex, MutexGuard, PoisonError},
    };

    use notekeeper_contract::FailureType;

    use super::{
        ADD_MESSAGES_AFTER_COMMIT, ADD_MESSAGES_BEFORE_COMMIT, CLEAR_MESSAGES_AFTER_COMMIT,
        CLEAR_MESSAGES_BEFORE_COMMIT, DELETE_AFTER_COMMIT, FORGET_AFTER_COMMIT,
        FORGET_BEFORE_COMMIT, MODEL_BEFORE_REQUEST, REMEMBER_AFTER_COMMIT, REMEMBER_BEFORE_COMMIT,
        SNAPSHOT_AFTER_READ, SUMMARY_BEFORE_REQUEST, WRITE_AFTER_COMMIT, WRITE_BEFORE_COMMIT,
        WRITE_SOURCE_AFTER_COMMIT, WRITE_SOURCE_BEFORE_COMMIT,
    };
    use crate::Failure;

    const POINTS: [&str; 16] = [
        WRITE_BEFORE_COMMIT,
        WRITE_AFTER_COMMIT,
        DELETE_AFTER_COMMIT,
        ADD_MESSAGES_BEFORE_COMMIT,
        ADD_MESSAGES_AFTER_COMMIT,
        CLEAR_MESSAGES_BEFORE_COMMIT,
        CLEAR_MESSAGES_AFTER_COMMIT,
        REMEMBER_BEFORE_COMMIT,
        REMEMBER_AFTER_COMMIT,
        FORGET_BEFORE_COMMIT,
        FORGET_AFTER_COMMIT,
        WRITE_SOURCE_BEFORE_COMMIT,
        WRITE_SOURCE_AFTER_COMMIT,
        SNAPSHOT_AFTER_READ,
        MODEL_BEFORE_REQUEST,
        SUMMARY_BEFORE_REQUEST,
    ];

    static ARMED: Mutex<Vec<Fault>> = Mutex::new(Vec::new());

    struct Fault {
        point: &'static str,
        effect: Effect,
    }

    enum Effect {
        /// Makes the file, then ends the process; passes where the file is there already.
        KillOnce(PathBuf),
        /// So many passes more fail.
        Fail(u32),
    }

    /// Why a fault can't be armed.
    #[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
    pub enum InvalidFault {
        /// The text isn't `POINT=EFFECT`.
        #[error("fault `{0}` is not `POINT=kill-once:FILE` or `POINT=fail:TIMES`")]
        Syntax(String),
        /// There is no such point.
        #[error("there is no fault point `{name}`; known: {}", POINTS.join(", "))]
        UnknownPoint {
            /// What was given.
            name: String,
        },
    }

    /// Arms fault points for the life of the process: `POINT=EFFECT`, several with `;` between.
    ///
    /// `kill-once:FILE` makes the file and ends the process with SIGKILL, unless the file is there.
    /// `fail:TIMES` makes the first so many passes fail as unavailable.
    ///
    /// # Errors
    ///
    /// [`InvalidFault`]; then nothing is armed.
    pub fn arm(spec: &str) -> Result<(), InvalidFault> {
        let faults: Vec<Fault> = spec
            .split(';')
            .map(parse)
            .collect::<Result<_, InvalidFault>>()?;
        armed().extend(faults);
        Ok(())
    }

    fn parse(text: &str) -> Result<Fault, InvalidFault> {
        let syntax = || InvalidFault::Syntax(text.to_owned());
        let (name, effect) = text.trim().split_once('=').ok_or_else(syntax)?;
        let point = POINTS
            .into_iter()
            .find(|point| *point == name)
            .ok_or_else(|| InvalidFault::UnknownPoint {
                name: name.to_owned(),
            })?;
        let effect = match effect.split_once(':') {
            Some(("kill-once", file)) if !file.is_empty() => Effect::KillOnce(file.into()),
            Some(("fail", times)) => Effect::Fail(times.parse().map_err(|_| syntax())?),
            _ => return Err(syntax()),
        };
        Ok(Fault { point, effect })
    }

    /// Passes a fault point. An armed one may fail, or end the process.
    pub(crate) fn reach(point: &'static str) -> Result<(), Failure> {
        for fault in armed().iter_mut().filter(|fault| fault.point == point) {
            match &mut fault.effect {
                Effect::KillOnce(marker) => kill_once(marker)?,
                Effect::Fail(0) => {}
                Effect::Fail(times) => {
                    *times -= 1;
                    return Err(unavailable(format!("fault point `{point}` is armed")));
                }
            }
        }
        Ok(())
    }

    fn kill_once(marker: &Path) -> Result<(), Failure> {
        match OpenOptions::new().write(true).create_new(true).open(marker) {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(()),
            Err(error) => {
                return Err(unavailable(format!("can't make the marker file: {error}")));
            }
        }
        // SIGKILL, not `abort`: no handler, destructor or flush may run, as when a machine dies.
        let killed =
            rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
        Err(unavailable(format!(
            "still alive after SIGKILL: {killed:?}"
        )))
    }

    fn unavailable(message: String) -> Failure {
        Failure::new(FailureType::Unavailable, message)
    }

    fn armed() -> MutexGuard<'static, Vec<Fault>> {
        ARMED.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
