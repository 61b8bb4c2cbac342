//! Models of embeddings, by name and kind.

use std::{collections::BTreeMap, time::Duration};

use anyhow::{Context as _, bail};
use notekeeper_models::{HASHING_DIMENSIONS_DEFAULT, OpenAiEmbedderOptions};
use serde::Deserialize;

use super::{
    BaseUrl, File,
    models::{TIMEOUT_SECONDS_MAX, api_key},
};

/// The embedder that is taken where none is named; there is always one.
const DEFAULT_EMBEDDER: &str = "default";

/// An embedder by its kind.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum EmbedderSection {
    /// Words and their parts, hashed: no model and no endpoint.
    Hashing {
        /// How many numbers an embedding has.
        dimensions: Option<usize>,
    },
    /// A model behind an endpoint that speaks OpenAI's protocol.
    #[serde(rename = "openai")]
    OpenAi {
        /// Name of the model, as the endpoint knows it.
        model: String,
        /// Where the endpoint is; OpenAI's own where it is missing.
        base_url: Option<BaseUrl>,
        /// Variable that holds the key; empty for none.
        api_key_env: Option<String>,
        /// Longest time of a request.
        timeout_seconds: Option<u64>,
        /// How many numbers an embedding is to have.
        dimensions: Option<u32>,
    },
}

/// An embedder that can be built.
#[derive(Debug, Clone)]
pub(crate) enum EmbedderConfig {
    Hashing { dimensions: usize },
    OpenAi(OpenAiEmbedderOptions),
}

impl File {
    /// The embedders by name. Where the file has no `default`, that one hashes.
    pub(super) fn embedders(
        &self,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> anyhow::Result<BTreeMap<String, EmbedderConfig>> {
        let mut embedders = BTreeMap::new();
        for (name, section) in &self.embedders {
            let config = embedder(section.clone(), environment)
                .with_context(|| format!("embedder `{name}` can't be used"))?;
            embedders.insert(name.clone(), config);
        }
        embedders
            .entry(DEFAULT_EMBEDDER.to_owned())
            .or_insert(EmbedderConfig::Hashing {
                dimensions: HASHING_DIMENSIONS_DEFAULT,
            });
        Ok(embedders)
    }
}

fn embedder(
    section: EmbedderSection,
    environment: &dyn Fn(&str) -> Option<String>,
) -> anyhow::Result<EmbedderConfig> {
    Ok(match section {
        EmbedderSection::Hashing { dimensions } => EmbedderConfig::Hashing {
            dimensions: dimensions.unwrap_or(HASHING_DIMENSIONS_DEFAULT),
        },
        EmbedderSection::OpenAi {
            model,
            base_url,
            api_key_env,
            timeout_seconds,
            dimensions,
        } => {
            let defaults = OpenAiEmbedderOptions::new(model);
            let base_url = base_url.map_or(defaults.base_url, BaseUrl::into_text);
            let timeout = match timeout_seconds {
                None => defaults.timeout,
                Some(seconds @ 1..=TIMEOUT_SECONDS_MAX) => Duration::from_secs(seconds),
                Some(_) => bail!("`timeout_seconds` must be 1 to {TIMEOUT_SECONDS_MAX}"),
            };
            EmbedderConfig::OpenAi(OpenAiEmbedderOptions {
                api_key: api_key(api_key_env.as_deref(), &base_url, environment)?,
                model: defaults.model,
                base_url,
                timeout,
                dimensions,
            })
        }
    })
}

#[cfg(test)]
mod tests {
    use super::{super::parse::parse, *};

    fn embedders(
        toml: &str,
        variables: &[(&str, &str)],
    ) -> anyhow::Result<BTreeMap<String, EmbedderConfig>> {
        let environment = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        parse(toml).expect("a usable file").embedders(&environment)
    }

    #[test]
    fn there_is_an_embedder_default_in_any_case() {
        for toml in ["", "[embedders.default]\nkind = 'hashing'"] {
            let embedders = embedders(toml, &[]).expect("embedders");
            assert!(
                matches!(
                    embedders["default"],
                    EmbedderConfig::Hashing { dimensions: 256 }
                ),
                "{embedders:?}"
            );
        }
    }

    #[test]
    fn an_embedder_behind_an_endpoint_has_all_settings_of_the_file() {
        let toml = "[embedders.default]\nkind = 'openai'\nmodel = 'm'\nbase_url = 'http://h/v1'\n\
                    api_key_env = 'KEY'\ntimeout_seconds = 30\ndimensions = 64";
        let embedders = embedders(toml, &[("KEY", "hunter2")]).expect("embedders");
        let EmbedderConfig::OpenAi(options) = &embedders["default"] else {
            panic!("{embedders:?}");
        };
        assert_eq!(
            (options.model.as_str(), options.base_url.as_str()),
            ("m", "http://h/v1")
        );
        assert_eq!(options.timeout, Duration::from_secs(30));
        assert_eq!(
            (options.dimensions, options.api_key.is_some()),
            (Some(64), true)
        );
        assert!(!format!("{embedders:?}").contains("hunter2"));
    }

    #[test]
    fn an_embedder_that_cannot_be_used_is_told_by_name_and_without_its_key() {
        let openai = "[embedders.e]\nkind = 'openai'\nmodel = 'm'\n";
        let mut said = String::new();
        for more in [
            "",
            "timeout_seconds = 0\nbase_url = 'https://h/v1'",
            "api_key_env = 'sk-hunter2'",
            "api_key_env = 'KEY'",
            "base_url = 'http://far.example/v1'",
        ] {
            let key: &[_] = match more.starts_with("base_url") {
                true => &[("OPENAI_API_KEY", "hunter2")],
                false => &[],
            };
            let error = embedders(&format!("{openai}{more}"), key).expect_err("refused");
            said += &format!("{error:#}\n");
        }
        assert!(!said.contains("hunter2"), "{said}");
        insta::assert_snapshot!(said);
    }
}
