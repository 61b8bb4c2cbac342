//! Opening sources beside the memories and conversations of a session.

use notekeeper_domain::Scope;

use super::{Recall, RecallSettings, WeakRecall};
use crate::{
    OpenError, Session, namespace::IntoNamespace, settings::check_name, stated_twice::difference_of,
};

/// A source of a session.
#[derive(Clone)]
pub(crate) struct OpenedSource {
    settings: RecallSettings,
    scope: Scope,
    handle: WeakRecall,
}

impl OpenedSource {
    pub(crate) fn source(&self) -> &str {
        &self.settings.source
    }

    pub(crate) fn scope(&self) -> &Scope {
        &self.scope
    }
}

impl Session {
    /// Opens one of the worker's sources on the namespace that `resolve` gives for the workflow's input:
    /// a text, or a `Result` of one. `resolve` runs here, once; it must depend on nothing but the input.
    ///
    /// Its name and scope go into the hash that stands in the id of every activity of the session, so a
    /// replay with another one is refused. Open it where the memories are opened, before the first call.
    ///
    /// A source whose name, settings and scope are those of one that was opened before is that one: the
    /// same handle comes back, with its scratchpad.
    ///
    /// ```
    /// use notekeeper_workflows::{OpenError, RecallSettings, Session};
    ///
    /// let settings = RecallSettings {
    ///     source: "handbook".to_owned(),
    ///     ..RecallSettings::default()
    /// };
    /// let session = Session::new();
    /// let handbook = session.recall(settings, &17, |customer| format!("customers/{customer}"))?;
    /// assert_eq!(handbook.scope().as_str(), "customers/17/main");
    /// # Ok::<(), OpenError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`OpenError`]; return it from the run with `?`.
    pub fn recall<I, N: IntoNamespace>(
        &self,
        settings: RecallSettings,
        input: &I,
        resolve: impl FnOnce(&I) -> N,
    ) -> Result<Recall, OpenError> {
        settings.check().map_err(OpenError::Source)?;
        if let Some(workspace) = self.workspace() {
            check_name("workspace", workspace).map_err(OpenError::Source)?;
        }
        let namespace = resolve(input).into_namespace();
        let namespace = namespace.map_err(OpenError::Resolver)?;
        let asked = settings.namespace.as_ref();
        if asked.is_some_and(|asked| *asked != namespace) {
            return Err(OpenError::Source(
                "`namespace` is not what the workflow's resolver answers; leave it out".to_owned(),
            ));
        }
        let scope = Scope::resolve(&namespace, &settings.agent_name)?;
        for known in self.sources() {
            if known.settings.source == settings.source && known.scope == scope {
                let same = same_settings(&known.settings, &settings)
                    .map(|()| known.handle.upgrade())
                    .map_err(|setting| OpenError::SameSource {
                        source_name: settings.source.clone(),
                        setting,
                    })?;
                if let Some(recall) = same {
                    return Ok(recall);
                }
            }
        }
        let recall = Recall::new(self.clone(), settings.clone(), scope.clone());
        self.hold_source(OpenedSource {
            settings,
            scope,
            handle: recall.downgrade(),
        });
        Ok(recall)
    }
}

/// The first setting in which two statements of one source differ. What the namespace is stands in
/// their scopes.
fn same_settings(one: &RecallSettings, other: &RecallSettings) -> Result<(), String> {
    let [one, other] = [one, other].map(|settings| RecallSettings {
        namespace: None,
        ..settings.clone()
    });
    match difference_of(&one, &other) {
        Some(setting) => Err(setting),
        None => Ok(()),
    }
}
