//! Parts that several payloads have in common.

use notekeeper_domain::{AGENT_NAME_DEFAULT, InvalidScope, Scope};
use serde::{Deserialize, Serialize};

/// Task queue of the activity-only worker: what callers in any language use.
pub const MEMORY_TASK_QUEUE: &str = "notekeeper";

/// Task queue of the worker that runs the workflows and carries the same activities.
pub const WORKFLOW_TASK_QUEUE: &str = "notekeeper-workflows";

/// Name of the store that is meant where a payload names none.
pub const DEFAULT_STORE: &str = "default";

/// Largest result that an activity returns, in bytes of its JSON.
///
/// Temporal refuses payloads over 2 MiB by default and warns from 512 KiB; a codec and the
/// envelope need room, so half of the hard limit.
pub const RESULT_BYTES_MAX: usize = 1024 * 1024;

/// Whose notes: namespace and agent name, of which JSON gives at least one.
///
/// Unlike elsewhere an unknown key is an error, and so is an empty object: a misspelt or forgotten
/// `namespace` would mean the notes of all that have none.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schemars"), derive(schemars::JsonSchema))]
#[cfg_attr(any(test, feature = "schemars"), schemars(rename = "Scope"))]
#[serde(try_from = "ScopeJson")]
pub struct ScopeRef {
    /// The tenant: `/`-separated segments, or empty.
    pub namespace: String,
    /// Storage segment inside the namespace; `main` where JSON gives none.
    pub agent_name: String,
}

/// What is said of a scope that names nothing.
pub(crate) const EMPTY_SCOPE: &str =
    "names nothing; give `namespace`, or `agent_name` for notes without a namespace";

/// Whose notes: at least one of the two. An unknown key is an error.
#[derive(Deserialize)]
#[cfg_attr(any(test, feature = "schemars"), derive(schemars::JsonSchema))]
#[cfg_attr(any(test, feature = "schemars"), schemars(extend("minProperties" = 1)))]
#[serde(deny_unknown_fields)]
struct ScopeJson {
    /// The tenant: segments with `/` between; none where it is empty or missing. With the agent name
    /// at most 2,000 characters, each segment at most 200.
    namespace: Option<String>,
    /// Storage segment inside the namespace; `main` where it is missing.
    agent_name: Option<String>,
}

impl TryFrom<ScopeJson> for ScopeRef {
    type Error = &'static str;

    fn try_from(json: ScopeJson) -> Result<Self, Self::Error> {
        if json.namespace.is_none() && json.agent_name.is_none() {
            return Err(EMPTY_SCOPE);
        }
        Ok(Self {
            namespace: json.namespace.unwrap_or_default(),
            agent_name: json
                .agent_name
                .unwrap_or_else(|| AGENT_NAME_DEFAULT.to_owned()),
        })
    }
}

impl ScopeRef {
    /// The scope that this names.
    ///
    /// # Errors
    ///
    /// As [`Scope::resolve`].
    pub fn resolve(&self) -> Result<Scope, InvalidScope> {
        Scope::resolve(&self.namespace, &self.agent_name)
    }
}

impl From<&Scope> for ScopeRef {
    fn from(scope: &Scope) -> Self {
        Self {
            namespace: scope.namespace().to_owned(),
            agent_name: scope.agent_name().to_owned(),
        }
    }
}

/// Stable identity of a mutation. A call with the same id and arguments takes effect once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schemars"), derive(schemars::JsonSchema))]
#[cfg_attr(any(test, feature = "schemars"), schemars(rename = "Operation"))]
pub struct OperationRef {
    /// 1 to 200 printable ASCII characters, unique for the mutation inside its scope.
    #[cfg_attr(any(test, feature = "schemars"), schemars(length(min = 1, max = 200)))]
    pub id: String,
}

impl OperationRef {
    /// Identity of one of several changes that this operation makes: `{id}/{name}`.
    ///
    /// For a tool that changes more than one thing, or that is given an operation which it shares: each
    /// change has a name, and so an identity that is the same for every attempt at it. Name changes by
    /// what they are, not by counting or by clocks, and let what they write follow from the tool's
    /// arguments alone: an attempt that would write something else under the same id is an
    /// `OperationConflict`. Ids of tool calls have 64 characters, which leaves 135 for the name.
    ///
    /// ```
    /// use notekeeper_contract::OperationRef;
    ///
    /// let call = OperationRef { id: "8f43a1".to_owned() };
    /// assert_eq!(call.part("save").id, "8f43a1/save");
    /// ```
    #[must_use]
    pub fn part(&self, name: &str) -> Self {
        Self {
            id: format!("{}/{name}", self.id),
        }
    }
}
