//! Grounding: what of a source stands in the instructions of a turn.

use super::{AgentFailure, AgentHost, request::count_found, turn::Turn};
use crate::{CallFailure, Grounder, InjectionErrors};

impl<W: AgentHost> Turn<'_, W> {
    /// Grounds the turn, once, before its first model request. Without effect where there is no grounding, or
    /// where an earlier turn's stays.
    pub(super) async fn ground(&mut self) -> Result<(), AgentFailure> {
        let setup = self.setup.clone();
        let (Some(grounder), false) = (&setup.grounder, self.asked_to_ground) else {
            return Ok(());
        };
        self.asked_to_ground = true;
        let question = &self.message.text;
        let grounded = grounder.ground_within(self.ctx, question, self.patience_ms(grounder));
        let grounded = grounded.await;
        count_found(self.ctx, &self.setup);
        match grounded {
            Ok(grounded) => {
                self.reply.grounding_partial = grounded.unheard;
                Ok(())
            }
            Err(failure) => self.skip_grounding(failure),
        }
    }

    fn ignores_grounding_errors(&self) -> bool {
        let grounding = self.setup.input.grounding.as_ref();
        grounding.is_some_and(|it| it.errors == InjectionErrors::Ignore)
    }

    /// Longest time of the query with all retries, in milliseconds: where the message is answered without,
    /// it waits no longer than for a snapshot.
    fn patience_ms(&self, grounder: &Grounder) -> u64 {
        let activities = &grounder.recall().settings().activities;
        match self.ignores_grounding_errors() {
            true => activities.snapshot_give_up_ms,
            false => activities.schedule_to_close_ms,
        }
    }

    /// Answers without, where the input allows it. What is wrong with the call itself, such as a source that
    /// the worker doesn't have, is never passed over: it wouldn't pass by itself.
    fn skip_grounding(&mut self, failure: CallFailure) -> Result<(), AgentFailure> {
        let passes = !failure.is_cancelled() && !failure.is_about_the_call();
        if !passes || !self.ignores_grounding_errors() {
            return Err(failure.into());
        }
        self.reply.grounding_skipped = Some(failure.type_name().to_owned());
        self.ctx
            .state_mut(|host| host.agent_mut().skipped_groundings += 1);
        Ok(())
    }

    /// The application's instructions and the guidance, and what grounds the turn after them.
    pub(super) fn instructions(&self) -> String {
        let own = &self.setup.instructions;
        let held = self.setup.grounder.as_ref().and_then(Grounder::held);
        match held.map(|held| held.text).filter(|text| !text.is_empty()) {
            None => own.clone(),
            Some(text) if own.is_empty() => text,
            Some(text) => format!("{own}\n\n{text}"),
        }
    }
}
