//! What compositions have in common: the legs that they consist of, and how long they wait for one.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use notekeeper_domain::Item;
use tokio::time::Instant;

use crate::{
    Answer, FailedLeg, InvalidSetting, Source, SourceCall, SourceError, SourceQuery,
    check_source_name,
    setting::{check_bounds, whole_milliseconds},
};

/// How long a composition waits for a leg where nothing else is said: 2 s, as a model waits behind it,
/// and the user behind the model.
pub const LEG_TIMEOUT_DEFAULT: Duration = Duration::from_secs(2);

/// Longest time that a composition can be told to wait for a leg, in milliseconds: a minute.
pub const LEG_TIMEOUT_MS_MAX: u64 = 60_000;

/// Most legs of one composition. With 100 items of each that is a pool of 3,200 to rank; more sources
/// are put into compositions inside.
pub const LEGS_MAX: usize = 32;

tokio::task_local! {
    /// When the composition around gives up on the one at hand.
    static GIVEN_UP_AT: Instant;
}

/// The legs of a composition, in their order.
#[derive(Debug)]
pub(crate) struct Legs {
    sources: Vec<Arc<dyn Source>>,
    timeout: Duration,
}

/// What came of asking a leg.
pub(crate) enum Heard {
    Answer(Answer),
    Late,
    Failed(SourceError),
}

impl Legs {
    pub(crate) fn new(
        sources: Vec<Arc<dyn Source>>,
        timeout: Duration,
    ) -> Result<Self, InvalidSetting> {
        if sources.is_empty() {
            return Err(InvalidSetting::new(
                "sources",
                "is empty; name at least one",
            ));
        }
        if sources.len() > LEGS_MAX {
            let many = format!(
                "has {} members, {LEGS_MAX} are allowed; put some into a composition inside",
                sources.len()
            );
            return Err(InvalidSetting::new("sources", many));
        }
        let mut names = BTreeSet::new();
        for (index, leg) in sources.iter().enumerate() {
            if !names.insert(leg.name()) {
                let twice = format!(
                    "has the name `{}`, as another member has; a member written in place can be \
                     given another with `name`",
                    leg.name()
                );
                return Err(InvalidSetting::new(format!("sources[{index}]"), twice));
            }
        }
        check_bounds(
            "leg_timeout_ms",
            whole_milliseconds(timeout),
            1..=LEG_TIMEOUT_MS_MAX,
        )?;
        Ok(Self { sources, timeout })
    }

    pub(crate) fn sources(&self) -> &[Arc<dyn Source>] {
        &self.sources
    }

    /// How long to wait for a leg now. Where the composition is itself a leg that somebody waits for, it
    /// keeps a tenth of what is left to itself: so what its other legs found gets out in time.
    fn patience(&self) -> Duration {
        let left = GIVEN_UP_AT.try_with(|at| at.saturating_duration_since(Instant::now()));
        match left {
            Ok(left) => self.timeout.min(left - left / 10),
            Err(_) => self.timeout,
        }
    }

    /// Asks the leg at this index, and waits no longer than is allowed.
    ///
    /// # Errors
    ///
    /// Those that end the whole query.
    pub(crate) async fn ask(
        &self,
        index: usize,
        query: &SourceQuery,
        call: &SourceCall<'_>,
    ) -> Result<Heard, SourceError> {
        let leg = &self.sources[index];
        let at = Instant::now() + self.patience();
        let answer = GIVEN_UP_AT.scope(at, leg.query(query, call));
        match tokio::time::timeout_at(at, answer).await {
            Err(_) => Ok(Heard::Late),
            Ok(Ok(mut answer)) => {
                answer.items.truncate(query.limit);
                Ok(Heard::Answer(answer))
            }
            Ok(Err(error)) if error.is_of_scope() => Err(error),
            Ok(Err(error)) => Ok(Heard::Failed(error)),
        }
    }
}

/// What the legs of a composition came to, told one after the other in their order.
#[derive(Debug, Default)]
pub(crate) struct Hearing {
    /// What each leg found; nothing of one that gave no answer.
    pub(crate) lists: Vec<Vec<Item>>,
    answered: bool,
    timed_out: Vec<String>,
    failed: Vec<FailedLeg>,
}

impl Hearing {
    pub(crate) fn add(&mut self, leg: &dyn Source, heard: Heard) {
        let mut items = Vec::new();
        match heard {
            Heard::Answer(answer) => {
                self.answered = true;
                items = answer.items;
                self.timed_out.extend(answer.timed_out);
                self.failed.extend(answer.failed);
            }
            Heard::Late => self.timed_out.push(leg.name().to_owned()),
            Heard::Failed(error) => self.failed.push(FailedLeg {
                source: leg.name().to_owned(),
                error: Arc::new(error),
            }),
        }
        self.lists.push(items);
    }

    /// The answer with these items, in which the legs that are missing are listed.
    ///
    /// # Errors
    ///
    /// Where no leg answered: the first failure that may pass; that one was late, where one was, as it
    /// may answer another time; or else the first failure.
    pub(crate) fn answer(self, name: &str, items: Vec<Item>) -> Result<Answer, SourceError> {
        if self.answered {
            return Ok(Answer {
                items,
                timed_out: self.timed_out,
                failed: self.failed,
            });
        }
        let (late, mut errors) = (self.timed_out, errors_of(self.failed));
        let passing = errors.iter().position(SourceError::is_passing);
        match passing {
            Some(index) => Err(errors.swap_remove(index)),
            None if late.is_empty() && !errors.is_empty() => Err(errors.swap_remove(0)),
            None => Err(SourceError::Unavailable(format!(
                "no member of source `{name}` answered in time; late: {}",
                late.join(", ")
            ))),
        }
    }
}

/// The errors of legs, which nobody else has.
fn errors_of(failed: Vec<FailedLeg>) -> Vec<SourceError> {
    let errors = failed.into_iter().map(|leg| leg.error);
    errors.filter_map(Arc::into_inner).collect()
}

/// Checks the name of a composition.
pub(crate) fn check_name(name: &str) -> Result<(), InvalidSetting> {
    check_source_name(name)
        .map_err(|fault| InvalidSetting::new("name", format!("can't be one: {fault}")))
}
