//! Workspaces: named roots under which runs keep files.

use std::{collections::BTreeMap, path::PathBuf};

use anyhow::{Context as _, bail};
use notekeeper_activities::Workspace;
use serde::Deserialize;

use super::File;

/// Longest name of a workspace, in bytes: what a run may give.
const NAME_BYTES_MAX: usize = 200;

/// A workspace, as the file has it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WorkspaceSection {
    /// Directory, absolute, on the machines that serve the workspace.
    root: PathBuf,
    /// Whether nothing may be changed there.
    #[serde(default)]
    read_only: bool,
    /// Task queue of the activities that touch its files: that of the workers that have the root.
    task_queue: Option<String>,
}

impl File {
    /// The workspaces by name, as a worker on these task queues has them. No directory is looked at.
    pub(crate) fn workspaces(
        &self,
        serves: impl Fn(&str) -> bool,
    ) -> anyhow::Result<BTreeMap<String, Workspace>> {
        let workspaces = self.workspaces.iter().map(|(name, section)| {
            let workspace = workspace(name, section, &serves);
            let workspace = workspace.with_context(|| format!("workspace `{name}` can't be used"));
            Ok((name.clone(), workspace?))
        });
        workspaces.collect()
    }
}

fn workspace(
    name: &str,
    section: &WorkspaceSection,
    serves: impl Fn(&str) -> bool,
) -> anyhow::Result<Workspace> {
    if !(1..=NAME_BYTES_MAX).contains(&name.len()) {
        bail!("its name must have 1 to {NAME_BYTES_MAX} bytes");
    }
    if !section.root.is_absolute() {
        bail!(
            "`root` is `{}`, and must be an absolute path: a relative one would depend on where the \
             worker is started",
            section.root.display()
        );
    }
    let task_queue = section.task_queue.as_deref();
    if task_queue.is_some_and(str::is_empty) {
        bail!("`task_queue` is empty; leave it out where any worker will do");
    }
    Ok(Workspace {
        root: section.root.clone(),
        read_only: section.read_only,
        task_queue: section.task_queue.clone(),
        is_served: task_queue.is_none_or(serves),
    })
}

#[cfg(test)]
mod tests {
    use super::{super::parse::parse, *};

    fn workspaces(toml: &str) -> anyhow::Result<BTreeMap<String, Workspace>> {
        let file = parse(toml).expect("a usable file");
        file.workspaces(|queue| queue == "ours")
    }

    #[test]
    fn a_worker_serves_a_workspace_without_a_queue_and_one_of_its_own_queue() {
        let toml = "[workspaces.a]\nroot = '/srv/a'\n\
                    [workspaces.b]\nroot = '/srv/b'\ntask_queue = 'ours'\nread_only = true\n\
                    [workspaces.c]\nroot = '/srv/c'\ntask_queue = 'theirs'";
        let workspaces = workspaces(toml).expect("workspaces");
        let served: Vec<_> = workspaces.values().map(|it| it.is_served).collect();
        let read_only: Vec<_> = workspaces.values().map(|it| it.read_only).collect();
        assert_eq!(served, [true, true, false]);
        assert_eq!(read_only, [false, true, false]);
    }

    #[test]
    fn a_workspace_that_cannot_be_used_says_which_and_why() {
        for (toml, told) in [
            ("[workspaces.a]\nroot = 'srv'", "must be an absolute path"),
            (
                "[workspaces.a]\nroot = '/srv'\ntask_queue = ''",
                "`task_queue` is empty",
            ),
        ] {
            let error = workspaces(toml).expect_err("it can't be used");
            let said = format!("{error:#}");
            assert!(said.starts_with("workspace `a` can't be used"), "{said}");
            assert!(said.contains(told), "{said}");
        }
    }

    #[test]
    fn a_workspace_needs_its_root_and_knows_no_other_keys() {
        for toml in [
            "[workspaces.a]\nread_only = true",
            "[workspaces.a]\nroot = '/srv'\nreadonly = true",
        ] {
            let error = parse(toml).expect_err("the file can't be used");
            assert!(format!("{error:#}").contains("workspaces.a"), "{error:#}");
        }
    }
}
