//! Opening conversations beside the memories of a session.

use notekeeper_domain::{Scope, fact_tools};

use super::{Conversation, ConversationSettings};
use crate::{
    OpenError, Session, namespace::IntoNamespace, settings::check_name, stated_twice::difference_of,
};

/// A conversation of a session.
#[derive(Clone)]
pub(crate) struct OpenedConversation {
    settings: ConversationSettings,
    scope: Scope,
}

impl OpenedConversation {
    pub(crate) fn store(&self) -> &str {
        &self.settings.store
    }

    pub(crate) fn scope(&self) -> &Scope {
        &self.scope
    }

    pub(crate) fn id(&self) -> &str {
        &self.settings.id
    }
}

impl Session {
    /// Opens a conversation on the namespace that `resolve` gives for the workflow's input: a text, or a
    /// `Result` of one. `resolve` runs here, once; it must depend on nothing but the input.
    ///
    /// Its store, scope and id go into the hash that stands in the id of every activity of the session,
    /// so a replay with another one is refused. Open it where the memories are opened, before the first
    /// call.
    ///
    /// ```
    /// use notekeeper_workflows::{ConversationSettings, OpenError, Session};
    ///
    /// let session = Session::new();
    /// let conversation = session.converse(ConversationSettings::default(), &17, |customer| {
    ///     format!("customers/{customer}")
    /// })?;
    /// assert_eq!(conversation.scope().as_str(), "customers/17/main");
    /// assert_eq!(conversation.id().as_str(), "main");
    /// # Ok::<(), OpenError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`OpenError`]; return it from the run with `?`.
    pub fn converse<I, N: IntoNamespace>(
        &self,
        settings: ConversationSettings,
        input: &I,
        resolve: impl FnOnce(&I) -> N,
    ) -> Result<Conversation, OpenError> {
        let conversation = self.prepare(settings, input, resolve)?;
        self.hold_conversation(OpenedConversation {
            settings: conversation.settings().clone(),
            scope: conversation.scope().clone(),
        });
        Ok(conversation)
    }

    /// As [`Session::converse`], but for the hash: for a conversation that follows from what stands in
    /// the hash already.
    pub(crate) fn converse_unhashed<I, N: IntoNamespace>(
        &self,
        settings: ConversationSettings,
        input: &I,
        resolve: impl FnOnce(&I) -> N,
    ) -> Result<Conversation, OpenError> {
        self.prepare(settings, input, resolve)
    }

    fn prepare<I, N: IntoNamespace>(
        &self,
        settings: ConversationSettings,
        input: &I,
        resolve: impl FnOnce(&I) -> N,
    ) -> Result<Conversation, OpenError> {
        let id = settings.check().map_err(OpenError::Conversation)?;
        if let Some(workspace) = self.workspace() {
            check_name("workspace", workspace).map_err(OpenError::Conversation)?;
        }
        let namespace = resolve(input).into_namespace();
        let namespace = namespace.map_err(OpenError::Resolver)?;
        if settings
            .namespace
            .as_ref()
            .is_some_and(|given| *given != namespace)
        {
            return Err(OpenError::Conversation(
                "`namespace` is not what the workflow's resolver answers; leave it out".to_owned(),
            ));
        }
        let scope = Scope::resolve(&namespace, &settings.agent_name)?;
        for known in self.conversations() {
            check_beside(&known, &settings, &scope)?;
        }
        Ok(Conversation::new(self.clone(), settings, scope, id))
    }
}

/// Whether a conversation can stand beside one that was opened before.
fn check_beside(
    known: &OpenedConversation,
    settings: &ConversationSettings,
    scope: &Scope,
) -> Result<(), OpenError> {
    let same_place = known.settings.store == settings.store && known.scope == *scope;
    if same_place && known.settings.id == settings.id {
        let without_namespace = |settings: &ConversationSettings| ConversationSettings {
            namespace: None,
            ..settings.clone()
        };
        let settings = without_namespace(settings);
        return match difference_of(&without_namespace(&known.settings), &settings) {
            Some(setting) => Err(OpenError::SameConversation { setting }),
            None => Ok(()),
        };
    }
    if same_place {
        // The tools of both reach the same facts.
        return Ok(());
    }
    let names = |prefix: &str| fact_tools(prefix).into_iter().map(|tool| tool.name);
    let mut known_names = names(&known.settings.prefix);
    match known_names.find(|known| names(&settings.prefix).any(|name| name == *known)) {
        Some(tool) => Err(OpenError::SameFactTools { tool }),
        None => Ok(()),
    }
}
