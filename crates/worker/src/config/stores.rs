//! Stores, by name and kind.

use std::{
    collections::BTreeMap,
    path::{Component, Path, PathBuf},
};

use anyhow::{Context as _, bail};
use notekeeper_contract::DEFAULT_STORE;
use notekeeper_store::{FileOptions, PostgresOptions, SqliteOptions};
use serde::Deserialize;

use crate::{arguments::DatabaseArgs, database_url::DatabaseUrl};

use super::File;

/// A store by its kind.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum StoreSection {
    /// Notes in PostgreSQL.
    Postgres {
        /// `postgres://…`; for the store `default` the flag and `DATABASE_URL` go before it.
        url: Option<DatabaseUrl>,
        /// Schema that holds the tables.
        schema: Option<String>,
        /// Most connections at a time.
        connections_max: Option<u32>,
    },
    /// Notes in an SQLite file.
    Sqlite {
        /// The file; for the store `default` the flag and `NOTEKEEPER_SQLITE` go before it.
        path: Option<PathBuf>,
    },
    /// Notes as Markdown files.
    File {
        /// The directory. Only the configuration file names one: who starts a workflow can't. An
        /// absolute one is the store's own; a relative one is seen from the root of a workspace.
        directory: PathBuf,
        /// The workspace; the run's where none is given.
        workspace: Option<String>,
    },
    /// Notes in this process's memory: for trying things out. Braces, because serde passes over
    /// unknown keys of a variant without any.
    InMemory {},
}

impl StoreSection {
    /// As the file names it.
    fn kind(&self) -> &'static str {
        match self {
            Self::Postgres { .. } => "postgres",
            Self::Sqlite { .. } => "sqlite",
            Self::File { .. } => "file",
            Self::InMemory {} => "in_memory",
        }
    }
}

/// A store that can be built.
#[derive(Debug, Clone)]
pub(crate) enum StoreConfig {
    Postgres(PostgresOptions),
    Sqlite(SqliteOptions),
    File(FileOptions),
    WorkspaceFiles(WorkspaceFilesConfig),
    InMemory,
}

impl StoreConfig {
    /// As the file names it.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Postgres(_) => "postgres",
            Self::Sqlite(_) => "sqlite",
            Self::File(_) | Self::WorkspaceFiles(_) => "file",
            Self::InMemory => "in_memory",
        }
    }

    /// Whether the store keeps transcripts and facts beside notes; known without opening it.
    pub(crate) fn keeps_transcripts(&self) -> bool {
        match self {
            Self::Postgres(_) | Self::Sqlite(_) | Self::InMemory => true,
            Self::File(_) | Self::WorkspaceFiles(_) => false,
        }
    }
}

/// A store that keeps its files in workspaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WorkspaceFilesConfig {
    /// Seen from the root; inside it.
    pub(crate) directory: String,
    /// The workspace; the run's where there is none.
    pub(crate) workspace: Option<String>,
}

impl File {
    fn store(
        &self,
        name: &str,
        section: StoreSection,
        args: &DatabaseArgs,
    ) -> anyhow::Result<StoreConfig> {
        let config = store(name, section, args)?;
        if let StoreConfig::WorkspaceFiles(files) = &config {
            let known = files.workspace.as_ref().map_or_else(
                || !self.workspaces.is_empty(),
                |own| self.workspaces.contains_key(own),
            );
            if !known {
                bail!(self.no_workspace(name, files));
            }
        }
        Ok(config)
    }

    fn no_workspace(&self, name: &str, files: &WorkspaceFilesConfig) -> String {
        let known: Vec<_> = self.workspaces.keys().map(|it| format!("`{it}`")).collect();
        match (&files.workspace, known.as_slice()) {
            (Some(own), [_, ..]) => format!(
                "store `{name}`: there is no workspace `{own}`; configured: {}",
                known.join(", ")
            ),
            (Some(own), []) => format!(
                "store `{name}`: there is no workspace `{own}`; add [workspaces.{own}] with its \
                 `root`"
            ),
            (None, _) => format!(
                "store `{name}` keeps its files in the run's workspace, because its `directory` is \
                 relative, and no workspace is configured; add [workspaces.NAME] with a `root`, or \
                 give an absolute directory"
            ),
        }
    }

    /// The stores by name. Flags and environment speak of the store `default`.
    pub(crate) fn stores(
        &self,
        args: &DatabaseArgs,
    ) -> anyhow::Result<BTreeMap<String, StoreConfig>> {
        let mut sections = self.stores.clone();
        check_backends(&sections)?;
        check_not_ignored(args, &sections)?;
        if let Some(section) = section_of(args) {
            sections.entry(DEFAULT_STORE.to_owned()).or_insert(section);
        }
        if sections.is_empty() {
            bail!(
                "no store is configured; give --sqlite FILE, or set DATABASE_URL or give \
                 --database-url, or add [stores.default] to the configuration file"
            );
        }
        let none = DatabaseArgs::default();
        sections
            .into_iter()
            .map(|(name, section)| {
                let args = if name == DEFAULT_STORE { args } else { &none };
                Ok((name.clone(), self.store(&name, section, args)?))
            })
            .collect()
    }
}

/// A store of files, with a root of its own or in workspaces.
fn file_store(directory: PathBuf, workspace: Option<String>) -> anyhow::Result<StoreConfig> {
    if directory.is_absolute() {
        if workspace.is_some() {
            bail!(
                "`directory` is `{}` and `workspace` is given; a directory in a workspace is \
                 relative to its root",
                directory.display()
            );
        }
        return Ok(StoreConfig::File(FileOptions::new(directory)));
    }
    let stays_inside = |part| matches!(part, Component::Normal(_) | Component::CurDir);
    let inside = directory.components().all(stays_inside);
    let text = directory.to_str().filter(|text| {
        let plain = |c: char| !c.is_control() && c != '`';
        inside && !text.is_empty() && text.chars().all(plain)
    });
    let Some(text) = text else {
        bail!(
            "`directory` is {:?}, and must stay inside the workspace's root: a path without `..`, \
             control characters and backticks, or `.` for the root itself",
            directory.display().to_string()
        );
    };
    Ok(StoreConfig::WorkspaceFiles(WorkspaceFilesConfig {
        directory: text.to_owned(),
        workspace,
    }))
}

/// What memories name as their `backend`, and the kind of store that they mean by it.
const BACKENDS: [(&str, &str); 3] = [
    ("memory", "in_memory"),
    ("file", "file"),
    ("sqlite", "sqlite"),
];

/// A store with the name of a backend is what that says.
fn check_backends(sections: &BTreeMap<String, StoreSection>) -> anyhow::Result<()> {
    for (name, kind) in BACKENDS {
        match sections.get(name).map(StoreSection::kind) {
            Some(other) if other != kind => bail!(
                "[stores.{name}] says kind = \"{other}\", and a memory that gives `{name}` as its \
                 `backend` means \"{kind}\"; give the store another name"
            ),
            _ => {}
        }
    }
    Ok(())
}

/// The store `default` that flags or variables make where the file has none.
fn section_of(args: &DatabaseArgs) -> Option<StoreSection> {
    if args.sqlite.is_some() {
        return Some(StoreSection::Sqlite { path: None });
    }
    args.database_url.as_ref().map(|_| StoreSection::Postgres {
        url: None,
        schema: None,
        connections_max: None,
    })
}

/// Flags and variables go before the file: what they ask for is never passed over in silence.
fn check_not_ignored(
    args: &DatabaseArgs,
    sections: &BTreeMap<String, StoreSection>,
) -> anyhow::Result<()> {
    if args.sqlite.is_some() && args.database_url.is_some() {
        bail!(
            "--sqlite (NOTEKEEPER_SQLITE) names a file for the store `default`, and \
             --database-url (DATABASE_URL) a database; remove one of them"
        );
    }
    let given = [
        (
            args.database_url.is_some(),
            "postgres",
            "--database-url (DATABASE_URL) names a PostgreSQL database for the store `default`",
        ),
        (
            args.sqlite.is_some(),
            "sqlite",
            "--sqlite (NOTEKEEPER_SQLITE) names a file for the store `default`",
        ),
        (
            args.schema.is_some(),
            "postgres",
            "--schema (NOTEKEEPER_SCHEMA) is for a PostgreSQL database",
        ),
    ];
    let given = given.iter().filter(|(given, ..)| *given);
    for (_, kind, flag) in given {
        match sections.get(DEFAULT_STORE) {
            Some(section) if section.kind() != *kind => bail!(
                "{flag}, and [stores.default] of the configuration file says kind = \"{}\"; \
                 remove one of them",
                section.kind()
            ),
            Some(_) => {}
            None if section_of(args).is_some_and(|section| section.kind() != *kind) => {
                bail!("{flag}, and --sqlite (NOTEKEEPER_SQLITE) names a file; remove one of them")
            }
            None if section_of(args).is_none() && !sections.is_empty() => bail!(
                "{flag} of the store `default`, and the configuration file has other stores \
                 alone; give their `schema` in [stores.NAME]"
            ),
            None => {}
        }
    }
    Ok(())
}

fn store(name: &str, section: StoreSection, args: &DatabaseArgs) -> anyhow::Result<StoreConfig> {
    match section {
        StoreSection::InMemory {} => Ok(StoreConfig::InMemory),
        StoreSection::File {
            directory,
            workspace,
        } => file_store(directory, workspace).with_context(|| format!("store `{name}`")),
        StoreSection::Sqlite { path } => {
            let path = args.sqlite.clone().or(path).with_context(|| {
                format!("store `{name}` has no `path`; add it, or for `default` give --sqlite FILE")
            })?;
            check_sqlite_path(name, &path)?;
            Ok(StoreConfig::Sqlite(SqliteOptions::new(path)))
        }
        StoreSection::Postgres {
            url,
            schema,
            connections_max,
        } => {
            let url = args.database_url.clone().or(url).with_context(|| {
                format!("store `{name}` has no `url`; add it, or for `default` set DATABASE_URL")
            })?;
            let mut options = PostgresOptions::new(url.into_string());
            if let Some(schema) = args.schema.clone().or(schema) {
                options.schema = schema;
            }
            if let Some(connections_max) = connections_max {
                options.connections_max = connections_max;
            }
            Ok(StoreConfig::Postgres(options))
        }
    }
}

/// SQLite itself takes these for databases that end with their connection.
fn check_sqlite_path(name: &str, path: &Path) -> anyhow::Result<()> {
    if path.as_os_str().is_empty() || path == Path::new(":memory:") {
        bail!(
            "`path` of the store `{name}` names no file; name one, or use kind = \"in_memory\" for notes \
             that end with the process"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{super::parse::parse, *};

    /// The store `notes` of a file that has two workspaces, `a` and `b`.
    fn notes(section: &str) -> Result<StoreConfig, String> {
        let workspaces = "[workspaces.a]\nroot = '/srv/a'\n[workspaces.b]\nroot = '/srv/b'\n";
        let toml = format!("{workspaces}[stores.notes]\nkind = 'file'\n{section}");
        let stores = parse(&toml)
            .expect("a usable file")
            .stores(&DatabaseArgs::default());
        match stores {
            Ok(mut stores) => Ok(stores.remove("notes").expect("it is there")),
            Err(error) => Err(format!("{error:#}")),
        }
    }

    #[test]
    fn files_are_in_the_runs_workspace_in_one_of_the_stores_own_or_in_none() {
        for (section, directory, workspace) in [
            ("directory = '.agent-memory'", ".agent-memory", None),
            ("directory = '.'", ".", None),
            ("directory = 'a/b'\nworkspace = 'b'", "a/b", Some("b")),
        ] {
            let Ok(StoreConfig::WorkspaceFiles(files)) = notes(section) else {
                panic!("{section}")
            };
            let expected = WorkspaceFilesConfig {
                directory: directory.to_owned(),
                workspace: workspace.map(str::to_owned),
            };
            assert_eq!(files, expected);
        }
        let Ok(StoreConfig::File(options)) = notes("directory = '/var/notes'") else {
            panic!("a root of its own");
        };
        assert_eq!(options.root, PathBuf::from("/var/notes"));
    }

    #[test]
    fn a_place_for_files_that_cannot_be_is_an_error_that_says_what_can() {
        for (section, told) in [
            (
                "directory = 'x'\nworkspace = 'c'",
                "store `notes`: there is no workspace `c`; configured: `a`, `b`",
            ),
            (
                "directory = '/x'\nworkspace = 'a'",
                "store `notes`: `directory` is `/x` and `workspace` is given; a directory in a \
                 workspace is relative to its root",
            ),
            (
                "directory = 'x/../../y'",
                "store `notes`: `directory` is \"x/../../y\", and must stay inside the workspace's \
                 root: a path without `..`, control characters and backticks, or `.` for the root \
                 itself",
            ),
        ] {
            assert_eq!(notes(section).expect_err("it can't be"), told);
        }
        for section in [
            "directory = ''",
            "directory = '..'",
            "directory = \"a\\nb\"",
        ] {
            let said = notes(section).expect_err("it can't be");
            assert!(said.contains("must stay inside"), "{said}");
        }
    }

    #[test]
    fn a_store_in_the_runs_workspace_needs_workspaces() {
        let toml = "[stores.notes]\nkind = 'file'\ndirectory = 'notes'";
        let error = stores(toml, &DatabaseArgs::default()).expect_err("none is there");
        let said = error.to_string();
        assert!(said.contains("no workspace is configured"), "{said}");
        assert!(said.contains("[workspaces.NAME]"), "{said}");
    }

    fn stores(toml: &str, args: &DatabaseArgs) -> anyhow::Result<Vec<String>> {
        let stores = parse(toml).expect("a usable file").stores(args)?;
        Ok(stores.into_keys().collect())
    }

    fn args(database_url: Option<&str>, schema: Option<&str>) -> DatabaseArgs {
        DatabaseArgs {
            database_url: database_url.map(DatabaseUrl::from),
            schema: schema.map(str::to_owned),
            sqlite: None,
        }
    }

    fn file(path: &str) -> DatabaseArgs {
        DatabaseArgs {
            sqlite: Some(path.into()),
            ..DatabaseArgs::default()
        }
    }

    #[test]
    fn a_flag_that_the_file_leaves_no_use_for_is_an_error_that_names_both() {
        let in_memory = "[stores.default]\nkind = 'in_memory'";
        let sqlite = "[stores.default]\nkind = 'sqlite'\npath = 'notes.db'";
        let postgres = "[stores.default]\nkind = 'postgres'\nurl = 'postgres://db/app'";
        let other = "[stores.eu]\nkind = 'postgres'\nurl = 'postgres://eu/app'";
        let url = Some("postgres://db/app");
        let cases = [
            (in_memory, args(url, None), "--database-url (DATABASE_URL)"),
            (
                in_memory,
                args(url, Some("s")),
                "--database-url (DATABASE_URL)",
            ),
            (
                in_memory,
                args(None, Some("s")),
                "--schema (NOTEKEEPER_SCHEMA)",
            ),
            (other, args(None, Some("s")), "--schema (NOTEKEEPER_SCHEMA)"),
            (sqlite, args(url, None), "--database-url (DATABASE_URL)"),
            (
                sqlite,
                args(None, Some("s")),
                "--schema (NOTEKEEPER_SCHEMA)",
            ),
            (in_memory, file("a.db"), "--sqlite (NOTEKEEPER_SQLITE)"),
            (postgres, file("a.db"), "--sqlite (NOTEKEEPER_SQLITE)"),
        ];
        for (toml, args, flag) in cases {
            let said = stores(toml, &args)
                .expect_err("nothing is ignored")
                .to_string();
            assert!(said.contains(flag) && said.contains("[stores."), "{said}");
        }
    }

    #[test]
    fn a_file_and_a_database_at_once_are_an_error_that_names_both() {
        let both = DatabaseArgs {
            sqlite: Some("a.db".into()),
            ..args(Some("postgres://db/app"), None)
        };
        let with_schema = DatabaseArgs {
            sqlite: Some("a.db".into()),
            ..args(None, Some("s"))
        };
        for (args, flag) in [(both, "--database-url"), (with_schema, "--schema")] {
            let said = stores("", &args)
                .expect_err("nothing is ignored")
                .to_string();
            assert!(said.contains(flag) && said.contains("--sqlite"), "{said}");
        }
    }

    #[test]
    fn a_file_of_the_flags_goes_before_that_of_the_configuration() {
        let toml = "[stores.default]\nkind = 'sqlite'\npath = 'theirs.db'";
        for (toml, args, path) in [
            (toml, DatabaseArgs::default(), "theirs.db"),
            (toml, file("ours.db"), "ours.db"),
            ("", file("ours.db"), "ours.db"),
        ] {
            let stores = parse(toml).expect("a usable file").stores(&args);
            let stores = stores.expect("stores");
            let Some(StoreConfig::Sqlite(options)) = stores.get(DEFAULT_STORE) else {
                panic!("{stores:?}")
            };
            assert_eq!(options.path, PathBuf::from(path));
        }
        let nowhere = "[stores.default]\nkind = 'sqlite'";
        let said = stores(nowhere, &DatabaseArgs::default()).expect_err("no path");
        assert!(said.to_string().contains("--sqlite FILE"), "{said}");
    }

    #[test]
    fn a_store_with_the_name_of_a_backend_is_of_its_kind() {
        let none = DatabaseArgs::default();
        let file = "[stores.sqlite]\nkind = 'file'\ndirectory = 'notes'";
        let said = stores(file, &none).expect_err("another kind").to_string();
        assert!(
            said.starts_with("[stores.sqlite] says kind = \"file\""),
            "{said}"
        );
        let fitting =
            "[stores.memory]\nkind = 'in_memory'\n[stores.sqlite]\nkind = 'sqlite'\npath = 'a'";
        assert_eq!(
            stores(fitting, &none).expect("stores"),
            ["memory", "sqlite"]
        );
    }

    #[test]
    fn a_path_that_names_no_file_is_an_error_wherever_it_is_given() {
        for path in ["", ":memory:"] {
            let toml = format!("[stores.default]\nkind = 'sqlite'\npath = '{path}'");
            for (toml, args) in [(toml.as_str(), DatabaseArgs::default()), ("", file(path))] {
                let said = stores(toml, &args).expect_err("no file").to_string();
                assert!(said.contains("`default` names no file"), "{said}");
            }
        }
    }

    #[test]
    fn a_database_of_the_flags_stands_beside_the_other_stores_of_the_file() {
        let toml = "[stores.scratch]\nkind = 'in_memory'";
        let both = args(Some("postgres://db/app"), Some("s"));
        assert_eq!(stores(toml, &both).expect("stores"), ["default", "scratch"]);
        assert_eq!(
            stores(toml, &args(None, None)).expect("stores"),
            ["scratch"]
        );
    }

    #[test]
    fn what_holds_the_url_of_a_database_does_not_show_it() {
        let secret = args(Some("postgres://app:hunter2@db/app"), None);
        let file = parse("[stores.default]\nkind = 'postgres'\nurl = 'postgres://a:hunter2@b/c'");
        let shown = format!("{secret:?} {:?}", file.expect("a usable file"));
        assert!(!shown.contains("hunter2"), "{shown}");
        assert!(shown.contains("DatabaseUrl"), "{shown}");
    }
}
