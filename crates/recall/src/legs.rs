//! What compositions have in common: the legs that they consist of, and how long they wait for one.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use crate::{
    Answer, FailedLeg, InvalidSetting, Source, SourceCall, SourceError, SourceQuery,
    patience::{Patience, QUERY_TIMEOUT, until},
    setting::{check_bounds, whole_milliseconds},
};
use notekeeper_domain::{Item, check_source_name};

/// How long a composition waits for a leg where nothing else is said: 2 s, as a model waits behind it,
/// and the user behind the model.
pub const LEG_TIMEOUT_DEFAULT: Duration = Duration::from_secs(2);

/// Longest time that a composition can be told to wait for a leg, in milliseconds: a minute.
pub const LEG_TIMEOUT_MS_MAX: u64 = 60_000;

/// Most legs of one composition. With 100 items of each that is a pool of 3,200 to rank; more sources
/// are put into compositions inside.
pub const LEGS_MAX: usize = 32;

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
            let at = || format!("sources[{index}]");
            check_source_name(leg.name()).map_err(|fault| {
                InvalidSetting::new(at(), format!("has a name that can't be one: {fault}"))
            })?;
            if !names.insert(leg.name()) {
                let twice = format!(
                    "has the name `{}`, as another member has, and legs are told apart by their names; leave one \
                     out, or give a source that is written in place, and is no decorator, another `name` (a \
                     decorator has that of its `inner` source)",
                    leg.name()
                );
                return Err(InvalidSetting::new(at(), twice));
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

    /// The time for a query that begins now.
    pub(crate) fn patience(&self) -> Patience {
        Patience::of_query(QUERY_TIMEOUT, self.timeout)
    }

    /// How long one leg may take.
    pub(crate) fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Asks the leg at this index, and waits no longer than is allowed. From it on legs are asked in so many
    /// turns.
    ///
    /// # Errors
    ///
    /// Those that end the whole query.
    pub(crate) async fn ask(
        &self,
        index: usize,
        query: &SourceQuery,
        call: &SourceCall<'_>,
        (patience, turns): (&Patience, usize),
    ) -> Result<Heard, SourceError> {
        let leg = &self.sources[index];
        let at = patience.for_leg(self.timeout, turns);
        match until(at, leg.query(query, call)).await {
            None => Ok(Heard::Late),
            Some(Ok(mut answer)) => {
                answer.items.truncate(query.limit);
                Ok(Heard::Answer(answer))
            }
            Some(Err(error)) if error.is_of_scope() => Err(error),
            Some(Err(error)) => Ok(Heard::Failed(error)),
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
    incomplete: Vec<String>,
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
                for name in answer.incomplete {
                    if !self.incomplete.contains(&name) {
                        self.incomplete.push(name);
                    }
                }
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
    /// [`SourceError::NoAnswer`] where no leg answered.
    pub(crate) fn answer(self, name: &str, items: Vec<Item>) -> Result<Answer, SourceError> {
        let answer = Answer {
            items,
            timed_out: self.timed_out,
            failed: self.failed,
            incomplete: self.incomplete,
        };
        match self.answered {
            true => Ok(answer),
            false => Err(SourceError::NoAnswer {
                source_name: name.to_owned(),
                answer: Box::new(answer),
            }),
        }
    }
}

/// Checks the name of a composition.
pub(crate) fn check_name(name: &str) -> Result<(), InvalidSetting> {
    check_source_name(name)
        .map_err(|fault| InvalidSetting::new("name", format!("can't be one: {fault}")))
}
