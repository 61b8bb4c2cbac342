//! Conversations: handles on a transcript and on the facts of its scope.

mod calls;
mod open;
mod settings;
mod tools;

use std::rc::Rc;

use notekeeper_contract::{OperationRef, ScopeRef};
use notekeeper_domain::{ConversationId, OperationId, Scope};
use temporalio_workflow::WorkflowContext;

pub(crate) use open::OpenedConversation;
pub use settings::ConversationSettings;

use crate::{Session, activity_call::CallOptions};

/// A handle on one conversation of a scope: its transcript, and the facts of the scope, which all
/// its conversations share.
///
/// It reads and changes both, offers the tools of facts, and carries out the model's calls of them.
/// Each call is an activity. A change has an operation of its own, drawn from the run's random
/// stream when the call is made, so that the activity takes effect once however often it runs.
/// Clones are the same handle.
#[derive(Clone)]
pub struct Conversation {
    inner: Rc<Inner>,
}

struct Inner {
    session: Session,
    settings: ConversationSettings,
    scope: Scope,
    id: ConversationId,
}

impl Conversation {
    fn new(
        session: Session,
        settings: ConversationSettings,
        scope: Scope,
        id: ConversationId,
    ) -> Self {
        Self {
            inner: Rc::new(Inner {
                session,
                settings,
                scope,
                id,
            }),
        }
    }

    /// The settings that the conversation was opened with.
    pub fn settings(&self) -> &ConversationSettings {
        &self.inner.settings
    }

    /// Whose messages and facts these are.
    pub fn scope(&self) -> &Scope {
        &self.inner.scope
    }

    /// Whose messages and facts these are, as payloads name it.
    pub fn scope_ref(&self) -> ScopeRef {
        ScopeRef::from(&self.inner.scope)
    }

    /// Which conversation of the scope it is.
    pub fn id(&self) -> &ConversationId {
        &self.inner.id
    }

    pub(crate) fn store(&self) -> String {
        self.inner.settings.store.clone()
    }

    /// The workspace that the run names.
    pub(crate) fn workspace(&self) -> Option<String> {
        self.inner.session.workspace().map(str::to_owned)
    }

    /// Options for one activity call, whose id is taken now.
    fn options(&self) -> CallOptions {
        let id = self.inner.session.next_activity_id();
        self.inner.settings.activities.options(id)
    }

    /// The same for a call that ends within `within_ms` or the settings' time, whichever is shorter.
    fn options_within(&self, within_ms: u64) -> CallOptions {
        let id = self.inner.session.next_activity_id();
        let activities = &self.inner.settings.activities;
        activities.options_within(id, within_ms.min(activities.schedule_to_close_ms))
    }

    /// The operation of a change that is made now.
    pub(crate) fn new_operation<W>(&self, ctx: &WorkflowContext<W>, kind: &str) -> OperationRef {
        let drawn: u128 = ctx.random_stream("notekeeper").random();
        self.operation_of(&[kind, &format!("{drawn:032x}")])
    }

    /// The operation of a change that these parts identify, in this conversation.
    pub(crate) fn operation_of(&self, parts: &[&str]) -> OperationRef {
        let place = [self.inner.scope.as_str(), self.inner.id.as_str()];
        let id = OperationId::from_parts(&[parts, &place].concat());
        OperationRef {
            id: id.as_str().to_owned(),
        }
    }
}

impl std::fmt::Debug for Conversation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Conversation")
            .field("scope", &self.inner.scope)
            .field("id", &self.inner.id)
            .finish_non_exhaustive()
    }
}
