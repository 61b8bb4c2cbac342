//! Stores, by name and kind.

use std::collections::BTreeMap;

use anyhow::{Context as _, bail};
use notekeeper_contract::DEFAULT_STORE;
use notekeeper_store::PostgresOptions;
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
    /// Notes in this process's memory: for trying things out.
    InMemory,
}

/// A store that can be built.
#[derive(Debug, Clone)]
pub(crate) enum StoreConfig {
    Postgres(PostgresOptions),
    InMemory,
}

impl File {
    /// The stores by name. Flags and environment speak of the store `default`.
    pub(crate) fn stores(
        &self,
        args: &DatabaseArgs,
    ) -> anyhow::Result<BTreeMap<String, StoreConfig>> {
        let mut sections = self.stores.clone();
        check_not_ignored(args, &sections)?;
        if args.database_url.is_some() && !sections.contains_key(DEFAULT_STORE) {
            let section = StoreSection::Postgres {
                url: None,
                schema: None,
                connections_max: None,
            };
            sections.insert(DEFAULT_STORE.to_owned(), section);
        }
        if sections.is_empty() {
            bail!(
                "no store is configured; set DATABASE_URL or give --database-url, or add \
                 [stores.default] to the configuration file"
            );
        }
        let none = DatabaseArgs::default();
        sections
            .into_iter()
            .map(|(name, section)| {
                let args = if name == DEFAULT_STORE { args } else { &none };
                Ok((name.clone(), store(&name, section, args)?))
            })
            .collect()
    }
}

/// Flags and variables go before the file: what they ask for is never passed over in silence.
fn check_not_ignored(
    args: &DatabaseArgs,
    sections: &BTreeMap<String, StoreSection>,
) -> anyhow::Result<()> {
    match sections.get(DEFAULT_STORE) {
        Some(StoreSection::Postgres { .. }) => {}
        Some(StoreSection::InMemory) if args.database_url.is_some() => bail!(
            "--database-url (DATABASE_URL) names a database for the store `default`, and \
             [stores.default] of the configuration file says kind = \"in_memory\"; \
             remove one of them"
        ),
        Some(StoreSection::InMemory) if args.schema.is_some() => bail!(
            "--schema (NOTEKEEPER_SCHEMA) is for a database, and [stores.default] of the \
             configuration file says kind = \"in_memory\"; remove one of them"
        ),
        None if args.schema.is_some() && args.database_url.is_none() && !sections.is_empty() => {
            bail!(
                "--schema (NOTEKEEPER_SCHEMA) is for the store `default`, and the configuration \
                 file has other stores alone; give their `schema` in [stores.NAME]"
            )
        }
        Some(StoreSection::InMemory) | None => {}
    }
    Ok(())
}

fn store(name: &str, section: StoreSection, args: &DatabaseArgs) -> anyhow::Result<StoreConfig> {
    match section {
        StoreSection::InMemory => Ok(StoreConfig::InMemory),
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

#[cfg(test)]
mod tests {
    use super::{super::parse::parse, *};

    fn stores(toml: &str, args: &DatabaseArgs) -> anyhow::Result<Vec<String>> {
        let stores = parse(toml).expect("a usable file").stores(args)?;
        Ok(stores.into_keys().collect())
    }

    fn args(database_url: Option<&str>, schema: Option<&str>) -> DatabaseArgs {
        DatabaseArgs {
            database_url: database_url.map(DatabaseUrl::from),
            schema: schema.map(str::to_owned),
        }
    }

    #[test]
    fn a_flag_that_the_file_leaves_no_use_for_is_an_error_that_names_both() {
        let in_memory = "[stores.default]\nkind = 'in_memory'";
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
        ];
        for (toml, args, flag) in cases {
            let said = stores(toml, &args)
                .expect_err("nothing is ignored")
                .to_string();
            assert!(said.contains(flag) && said.contains("[stores."), "{said}");
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
