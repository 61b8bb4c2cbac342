//! Models, by name and kind.

use std::{
    collections::BTreeMap, convert::Infallible, path::PathBuf, str::FromStr, time::Duration,
};

use anyhow::{Context as _, bail};
use notekeeper_models::{ApiKey, OPENAI_BASE_URL, OpenAiOptions, goes_in_clear};
use serde::Deserialize;

use super::{File, given::names_a_variable};
use crate::arguments::ModelArgs;

/// The model that flags and environment speak of, and that is asked where none is named.
const DEFAULT_MODEL: &str = "default";

/// Variable that holds the key where none is named.
const API_KEY_VARIABLE: &str = "OPENAI_API_KEY";

/// Variable of `--model-url`, which other tools read as well.
const BASE_URL_VARIABLE: &str = "OPENAI_BASE_URL";

/// Longest `timeout_seconds`: a day. No caller waits longer.
pub(super) const TIMEOUT_SECONDS_MAX: u64 = 24 * 3_600;

/// A model by its kind.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum ModelSection {
    /// A model that reads its turns from a file.
    Scripted {
        /// The JSON file.
        script: PathBuf,
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
        /// Sampling temperature, 0 to 2.
        temperature: Option<f64>,
        /// Most tokens of an answer.
        max_completion_tokens: Option<u32>,
    },
}

/// A base URL. It isn't shown: a wrong one may hold a password.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub(crate) struct BaseUrl(String);

/// A model that can be built.
#[derive(Debug, Clone)]
pub(crate) enum ModelConfig {
    Scripted { script: PathBuf },
    OpenAi(OpenAiOptions),
}

impl std::fmt::Debug for BaseUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("BaseUrl")
    }
}

impl BaseUrl {
    /// The text, to be checked where it is used.
    pub(super) fn into_text(self) -> String {
        self.0
    }
}

impl FromStr for BaseUrl {
    type Err = Infallible;

    fn from_str(url: &str) -> Result<Self, Infallible> {
        Ok(Self(url.to_owned()))
    }
}

/// A variable of the environment, if it is set and not empty.
pub(crate) fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

impl File {
    /// The models by name. Flags and environment speak of the model `default`.
    pub(super) fn models(
        &self,
        args: &ModelArgs,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> anyhow::Result<BTreeMap<String, ModelConfig>> {
        let mut sections = self.models.clone();
        if let Some(section) = of_arguments(args, sections.get(DEFAULT_MODEL))? {
            sections.insert(DEFAULT_MODEL.to_owned(), section);
        }
        let url = args.model_url.as_ref().filter(|url| !url.0.is_empty());
        match (sections.get_mut(DEFAULT_MODEL), url) {
            (_, None) => {}
            (Some(ModelSection::OpenAi { base_url, .. }), Some(url)) => {
                *base_url = Some(url.clone())
            }
            // The variable is other tools' as well, and may stand there for them alone.
            (_, Some(url)) if environment(BASE_URL_VARIABLE).as_ref() == Some(&url.0) => {}
            (_, Some(_)) => bail!(
                "--model-url is for the model `default`, which is not behind an endpoint; give \
                 --model NAME as well, or leave it out"
            ),
        }
        sections
            .into_iter()
            .map(|(name, section)| {
                let config = model(section, environment)
                    .with_context(|| format!("model `{name}` can't be used"))?;
                Ok((name, config))
            })
            .collect()
    }
}

/// What the flags make of the model `default`, if they speak of it.
fn of_arguments(
    args: &ModelArgs,
    of_file: Option<&ModelSection>,
) -> anyhow::Result<Option<ModelSection>> {
    let (script, name) = match (&args.script, &args.model) {
        (Some(_), Some(_)) => bail!(
            "--script (NOTEKEEPER_SCRIPT) and --model (NOTEKEEPER_MODEL) both say what the model \
             `default` is; leave one of them out"
        ),
        (None, None) => return Ok(None),
        given => given,
    };
    if let Some(script) = script {
        let script = script.clone();
        return Ok(Some(ModelSection::Scripted { script }));
    }
    let name = name.clone().unwrap_or_default();
    let section = match of_file.cloned() {
        Some(mut section @ ModelSection::OpenAi { .. }) => {
            if let ModelSection::OpenAi { model, .. } = &mut section {
                *model = name;
            }
            section
        }
        _ => ModelSection::OpenAi {
            model: name,
            base_url: None,
            api_key_env: None,
            timeout_seconds: None,
            temperature: None,
            max_completion_tokens: None,
        },
    };
    Ok(Some(section))
}

fn model(
    section: ModelSection,
    environment: &dyn Fn(&str) -> Option<String>,
) -> anyhow::Result<ModelConfig> {
    match section {
        ModelSection::Scripted { script } => Ok(ModelConfig::Scripted { script }),
        ModelSection::OpenAi {
            model,
            base_url,
            api_key_env,
            timeout_seconds,
            temperature,
            max_completion_tokens,
        } => {
            let defaults = OpenAiOptions::new(model);
            let base_url = base_url.map_or(defaults.base_url, |BaseUrl(url)| url);
            let timeout = match timeout_seconds {
                None => defaults.timeout,
                Some(seconds @ 1..=TIMEOUT_SECONDS_MAX) => Duration::from_secs(seconds),
                Some(_) => bail!("`timeout_seconds` must be 1 to {TIMEOUT_SECONDS_MAX}"),
            };
            Ok(ModelConfig::OpenAi(OpenAiOptions {
                api_key: api_key(api_key_env.as_deref(), &base_url, environment)?,
                model: defaults.model,
                base_url,
                timeout,
                temperature,
                max_completion_tokens,
            }))
        }
    }
}

pub(super) fn api_key(
    variable: Option<&str>,
    base_url: &str,
    environment: &dyn Fn(&str) -> Option<String>,
) -> anyhow::Result<Option<ApiKey>> {
    let name = variable.unwrap_or(API_KEY_VARIABLE);
    if name.is_empty() {
        return Ok(None);
    }
    match environment(name) {
        Some(_) if variable.is_none() && goes_in_clear(base_url) => bail!(
            "the key in {API_KEY_VARIABLE} would go through the network in clear text, to a base URL \
             that begins with `http://`; give one with `https://`, unset {API_KEY_VARIABLE}, or say in \
             the file api_key_env = \"\" for no key, or api_key_env = \"{API_KEY_VARIABLE}\" where \
             that network is trusted"
        ),
        Some(key) => Ok(Some(ApiKey::new(&key))),
        None if variable.is_some() && !names_a_variable(name) => bail!(
            "`api_key_env` doesn't look like the name of a variable, and no variable is called so; \
             name the variable that holds the key, in capital letters: the key itself doesn't belong \
             into the file"
        ),
        None if variable.is_some() => bail!(
            "its key is expected in the variable `{name}` (`api_key_env`), which is not set; set \
             it, or say api_key_env = \"\" where the endpoint needs none"
        ),
        None if base_url == OPENAI_BASE_URL => bail!(
            "OpenAI's endpoint needs a key; set {API_KEY_VARIABLE}, or give the base URL of \
             another endpoint (`base_url`; of the model `default` also --model-url or {BASE_URL_VARIABLE})"
        ),
        None => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::{super::parse::parse, *};

    const OPENAI: &str = "[models.default]\nkind = 'openai'\nmodel = 'm'\n";

    fn models(
        toml: &str,
        args: &ModelArgs,
        variables: &[(&str, &str)],
    ) -> anyhow::Result<BTreeMap<String, ModelConfig>> {
        let environment = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        parse(toml)
            .expect("a usable file")
            .models(args, &environment)
    }

    fn model_of(toml: &str, args: &ModelArgs, variables: &[(&str, &str)]) -> OpenAiOptions {
        match models(toml, args, variables)
            .expect("models")
            .remove("default")
        {
            Some(ModelConfig::OpenAi(options)) => options,
            other => panic!("{other:?}"),
        }
    }

    fn refused(toml: &str, args: &ModelArgs, variables: &[(&str, &str)]) -> String {
        format!("{:#}", models(toml, args, variables).expect_err("refused"))
    }

    fn asking(model: &str) -> ModelArgs {
        ModelArgs {
            model: Some(model.to_owned()),
            ..ModelArgs::default()
        }
    }

    #[test]
    fn a_model_behind_an_endpoint_has_all_settings_of_the_file() {
        let toml = format!(
            "{OPENAI}base_url = 'http://h/v1'\napi_key_env = 'KEY'\ntimeout_seconds = 30\n\
             temperature = 0.5\nmax_completion_tokens = 100"
        );
        let options = model_of(&toml, &ModelArgs::default(), &[("KEY", "k")]);
        assert_eq!(options.model, "m");
        assert_eq!(options.base_url, "http://h/v1");
        assert!(options.api_key.is_some());
        assert_eq!(options.timeout, Duration::from_secs(30));
        assert_eq!(options.temperature, Some(0.5));
        assert_eq!(options.max_completion_tokens, Some(100));
    }

    #[test]
    fn flags_go_before_the_file() {
        let toml = format!("{OPENAI}base_url = 'http://file/v1'\nmax_completion_tokens = 7");
        let none = ModelArgs::default();
        assert_eq!(model_of(&toml, &none, &[]).base_url, "http://file/v1");
        let empty = ModelArgs {
            model_url: Some(BaseUrl(String::new())),
            ..ModelArgs::default()
        };
        assert_eq!(model_of(&toml, &empty, &[]).base_url, "http://file/v1");
        let args = ModelArgs {
            model_url: Some(BaseUrl("http://flag/v1".to_owned())),
            ..asking("other")
        };
        let options = model_of(&toml, &args, &[]);
        assert_eq!(options.base_url, "http://flag/v1");
        assert_eq!(
            (options.model.as_str(), options.max_completion_tokens),
            ("other", Some(7))
        );
    }

    #[test]
    fn a_flag_alone_makes_the_model_default_whatever_the_file_says_of_it() {
        let key = [(API_KEY_VARIABLE, "k")];
        for toml in ["", "[models.default]\nkind = 'scripted'\nscript = 's.json'"] {
            let options = model_of(toml, &asking("m"), &key);
            assert_eq!(options.base_url, OPENAI_BASE_URL);
            assert!(options.api_key.is_some());
        }
    }

    #[test]
    fn a_base_url_of_the_environment_is_for_the_model_default_and_may_be_of_no_use() {
        let other = "[models.other]\nkind = 'openai'\nmodel = 'm'\nbase_url = 'http://file/v1'";
        let variables = [(BASE_URL_VARIABLE, "http://variable/v1")];
        let args = ModelArgs {
            model_url: Some(BaseUrl("http://variable/v1".to_owned())),
            ..ModelArgs::default()
        };
        let models = models(other, &args, &variables).expect("models");
        let Some(ModelConfig::OpenAi(options)) = models.get("other") else {
            panic!("{models:?}");
        };
        assert_eq!(options.base_url, "http://file/v1");
        assert!(options.api_key.is_none());
    }

    #[test]
    fn what_makes_no_sense_together_is_refused_with_what_to_leave_out_or_set() {
        let script = ModelArgs {
            script: Some("s.json".into()),
            ..ModelArgs::default()
        };
        let both = ModelArgs {
            model: Some("m".to_owned()),
            ..script.clone()
        };
        let url = ModelArgs {
            model_url: Some(BaseUrl("http://app:hunter2@h/v1".to_owned())),
            ..script
        };
        let key_of_its_own = format!("{OPENAI}api_key_env = 'KEY'");
        let no_time = format!("{OPENAI}base_url = 'http://h'\ntimeout_seconds = 0");
        let none = ModelArgs::default();
        let said = [
            refused("", &both, &[]),
            refused("", &url, &[]),
            refused(OPENAI, &none, &[]),
            refused(&key_of_its_own, &none, &[(API_KEY_VARIABLE, "k")]),
            refused(&no_time, &none, &[]),
        ];
        assert!(said.iter().all(|said| !said.contains("hunter2")));
        insta::assert_snapshot!(said.join("\n"));
    }

    #[test]
    fn an_endpoint_may_need_no_key_and_need_not_get_the_one_that_is_there() {
        let toml = format!("{OPENAI}base_url = 'http://h/v1'\n");
        let none = ModelArgs::default();
        assert!(model_of(&toml, &none, &[]).api_key.is_none());
        let declined = format!("{toml}api_key_env = ''");
        let options = model_of(&declined, &none, &[(API_KEY_VARIABLE, "k")]);
        assert!(options.api_key.is_none());
    }

    #[test]
    fn neither_a_key_nor_a_password_in_a_url_is_shown() {
        let toml = format!("{OPENAI}base_url = 'https://app:hunter2@h/v1'");
        let variables = [(API_KEY_VARIABLE, "hunter2")];
        let file = parse(&toml).expect("a usable file");
        let options = model_of(&toml, &ModelArgs::default(), &variables);
        let shown = format!("{file:?} {options:?}");
        assert!(!shown.contains("hunter2"), "{shown}");
    }

    #[test]
    fn a_key_that_stands_in_the_place_of_its_variable_is_not_repeated() {
        for key in ["sk-proj-hunter2", "gsk_hunter2", "hunter2", &"K".repeat(65)] {
            let toml = format!("{OPENAI}api_key_env = '{key}'");
            let said = refused(&toml, &ModelArgs::default(), &[]);
            assert!(said.contains("doesn't look like the name"), "{said}");
            assert!(!said.contains(key), "{said}");
        }
        // Its form alone makes no name unusable.
        let toml = format!("{OPENAI}api_key_env = 'lower'");
        let options = model_of(&toml, &ModelArgs::default(), &[("lower", "k")]);
        assert!(options.api_key.is_some());
    }

    #[test]
    fn the_key_of_openai_goes_in_clear_text_to_another_machine_only_where_the_file_says_so() {
        let key = [(API_KEY_VARIABLE, "hunter2")];
        let none = ModelArgs::default();
        let of = |url: &str| format!("{OPENAI}base_url = '{url}'\n");
        let said = refused(&of("http://h/v1"), &none, &key);
        assert!(said.contains("in clear text"), "{said}");
        assert!(!said.contains("hunter2"), "{said}");
        for url in ["https://h/v1", "http://localhost:1/v1", "http://[::1]/v1"] {
            assert!(model_of(&of(url), &none, &key).api_key.is_some(), "{url}");
        }
        let trusted = of("http://h/v1") + "api_key_env = 'OPENAI_API_KEY'";
        assert!(model_of(&trusted, &none, &key).api_key.is_some());
    }
}
