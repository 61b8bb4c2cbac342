//! Settings of a conversation.

use notekeeper_contract::DEFAULT_STORE;
use notekeeper_domain::{
    self as domain, AGENT_NAME_DEFAULT, CONVERSATION_DEFAULT, ConversationId, RECALL_LIMIT_DEFAULT,
    RECALL_LIMIT_MAX,
};
use serde::{Deserialize, Serialize};

use crate::{
    ActivitySettings,
    settings::{check_name, check_prefix},
};

/// How one conversation behaves. Every field has a default, also in JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ConversationSettings {
    /// Which conversation of the scope: 1 to 200 bytes without control characters.
    pub id: String,
    /// Which of the worker's stores keeps messages and facts. In JSON `backend` is another name for it.
    #[serde(alias = "backend")]
    pub store: String,
    /// The tenant, for a resolver that answers with it. Any other resolver has to agree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Storage segment inside the namespace; the model never sees it.
    pub agent_name: String,
    /// Put before the names of the facts' tools as `{prefix}_`; empty for none.
    pub prefix: String,
    /// Most facts that the tool `recall` answers with, 1 to 1,000.
    pub max_recalled_facts: usize,
    /// Where and how long activities run.
    pub activities: ActivitySettings,
}

impl Default for ConversationSettings {
    fn default() -> Self {
        Self {
            id: CONVERSATION_DEFAULT.to_owned(),
            store: DEFAULT_STORE.to_owned(),
            namespace: None,
            agent_name: AGENT_NAME_DEFAULT.to_owned(),
            prefix: String::new(),
            max_recalled_facts: RECALL_LIMIT_DEFAULT,
            activities: ActivitySettings::default(),
        }
    }
}

impl ConversationSettings {
    /// The id, where all settings can be used; else names the first one that can't.
    pub(super) fn check(&self) -> Result<ConversationId, String> {
        let id = ConversationId::parse(&self.id).map_err(|error| format!("`id`: {error}"))?;
        if !(1..=RECALL_LIMIT_MAX).contains(&self.max_recalled_facts) {
            return Err(format!(
                "`max_recalled_facts` must be 1 to {RECALL_LIMIT_MAX}"
            ));
        }
        check_prefix(&self.prefix)?;
        check_name("store", &self.store)?;
        self.activities.check()?;
        Ok(id)
    }

    /// The name of a tool as the model sees it.
    pub(super) fn tool_name(&self, tool: &str) -> String {
        domain::tool_name(&self.prefix, tool)
    }
}
