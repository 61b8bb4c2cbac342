//! Where spans go, and what they call a scope.

use std::{
    fmt,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context as _, anyhow, bail};
use notekeeper_activities::ScopeHashKey;
use reqwest::Url;
use serde::Deserialize;

use super::{File, given::names_a_variable};

/// Variable that holds the key of scope hashes where none is named.
const KEY_VARIABLE: &str = "NOTEKEEPER_SCOPE_HASH_KEY";

/// Where a collector takes spans, behind the base URL that it is known by.
const TRACES_PATH: &str = "/v1/traces";

/// Base URL of a collector, as OpenTelemetry's own tools read it.
const ENDPOINT_VARIABLE: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";

/// The whole URL for spans; goes before the base URL.
const TRACES_ENDPOINT_VARIABLE: &str = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";

/// The protocol that is spoken: the more particular variable first.
const PROTOCOL_VARIABLES: [&str; 2] = [
    "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL",
    "OTEL_EXPORTER_OTLP_PROTOCOL",
];

/// The one protocol that is spoken here.
const PROTOCOL: &str = "http/protobuf";

/// How requests are compressed: the more particular variable first.
const COMPRESSION_VARIABLES: [&str; 2] = [
    "OTEL_EXPORTER_OTLP_TRACES_COMPRESSION",
    "OTEL_EXPORTER_OTLP_COMPRESSION",
];

/// Longest time of one request, in milliseconds: the more particular variable first.
const TIMEOUT_VARIABLES: [&str; 2] = [
    "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT",
    "OTEL_EXPORTER_OTLP_TIMEOUT",
];

/// Longest time of one request where none is given, as OpenTelemetry has it.
const TIMEOUT_DEFAULT: Duration = Duration::from_secs(10);

/// What the file says of telemetry.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct TelemetrySection {
    endpoint: Option<Endpoint>,
    scope_hash_key_env: Option<String>,
    scope_hash_key_file: Option<PathBuf>,
}

/// A URL as it was given. It isn't shown: a wrong one may hold a password.
#[derive(Clone, Deserialize)]
#[serde(transparent)]
struct Endpoint(String);

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Endpoint")
    }
}

/// Where spans go, and what they call a scope.
#[derive(Debug, Default)]
pub(crate) struct TelemetryConfig {
    /// The collector; `None` where nothing leaves the process.
    pub(crate) collector: Option<CollectorConfig>,
    /// `None` for the unkeyed hash.
    pub(crate) scope_hash_key: Option<ScopeHashKey>,
    /// Where the key stands.
    pub(crate) key_place: Option<KeyPlace>,
}

/// A collector that takes spans over HTTP.
#[derive(Debug, Clone)]
pub(crate) struct CollectorConfig {
    /// The whole URL that takes spans. It holds neither user name nor password.
    pub(crate) url: Url,
    /// Longest time of one request.
    pub(crate) timeout: Duration,
    /// Variable that named it; `None` where the file did.
    pub(crate) variable: Option<&'static str>,
}

/// Where a key stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum KeyPlace {
    Variable(String),
    File(PathBuf),
}

impl File {
    /// Where spans go. The variables are those that OpenTelemetry's own tools read.
    pub(super) fn telemetry(
        &self,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> anyhow::Result<TelemetryConfig> {
        let key_place = self.telemetry.key_place(environment)?;
        let scope_hash_key = match &key_place {
            None => None,
            Some(place) => Some(key_at(place, environment)?),
        };
        Ok(TelemetryConfig {
            collector: collector(self.telemetry.endpoint.as_ref(), environment)?,
            scope_hash_key,
            key_place,
        })
    }
}

impl TelemetrySection {
    fn key_place(
        &self,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> anyhow::Result<Option<KeyPlace>> {
        match (
            self.scope_hash_key_env.as_deref(),
            &self.scope_hash_key_file,
        ) {
            (Some(_), Some(_)) => bail!(
                "`telemetry.scope_hash_key_env` and `telemetry.scope_hash_key_file` both say where \
                 the key is; leave one of them out"
            ),
            (None, Some(path)) => Ok(Some(KeyPlace::File(path.clone()))),
            // None, also where the usual variable is set.
            (Some(""), None) => Ok(None),
            (Some(name), None) => Ok(Some(KeyPlace::Variable(name.to_owned()))),
            (None, None) => {
                Ok(environment(KEY_VARIABLE).map(|_| KeyPlace::Variable(KEY_VARIABLE.to_owned())))
            }
        }
    }
}

fn key_at(
    place: &KeyPlace,
    environment: &dyn Fn(&str) -> Option<String>,
) -> anyhow::Result<ScopeHashKey> {
    let (key, what) = match place {
        KeyPlace::Variable(name) => (key_in_variable(name, environment)?, "in its variable"),
        KeyPlace::File(path) => (key_in_file(path)?, "in `telemetry.scope_hash_key_file`"),
    };
    ScopeHashKey::new(&key).with_context(|| format!("the key {what} can't be used"))
}

fn key_in_variable(
    name: &str,
    environment: &dyn Fn(&str) -> Option<String>,
) -> anyhow::Result<String> {
    match environment(name) {
        Some(key) => Ok(key),
        None if !names_a_variable(name) => bail!(
            "`telemetry.scope_hash_key_env` doesn't look like the name of a variable, and no \
             variable is called so; name the variable that holds the key, in capital letters: the \
             key itself doesn't belong into the file"
        ),
        None => bail!(
            "the key of scope hashes is expected in the variable `{name}` \
             (`telemetry.scope_hash_key_env`), which is not set; set it, or leave the setting out \
             for unkeyed hashes"
        ),
    }
}

fn key_in_file(path: &Path) -> anyhow::Result<String> {
    let text = std::fs::read_to_string(path).with_context(|| {
        format!(
            "can't read the key in `{}` (`telemetry.scope_hash_key_file`)",
            path.display()
        )
    })?;
    // Editors and `echo` end a file with a line break, which belongs to no key.
    Ok(text.trim_end_matches(['\r', '\n']).to_owned())
}

fn collector(
    of_file: Option<&Endpoint>,
    environment: &dyn Fn(&str) -> Option<String>,
) -> anyhow::Result<Option<CollectorConfig>> {
    let is = |variable: &str, value: &str| {
        environment(variable).is_some_and(|given| given.trim().eq_ignore_ascii_case(value))
    };
    if is("OTEL_SDK_DISABLED", "true") || is("OTEL_TRACES_EXPORTER", "none") {
        return Ok(None);
    }
    let (given, what, variable) = if let Some(url) = environment(TRACES_ENDPOINT_VARIABLE) {
        let variable = TRACES_ENDPOINT_VARIABLE;
        (url, variable, Some(variable))
    } else if let Some(base) = environment(ENDPOINT_VARIABLE) {
        (base, ENDPOINT_VARIABLE, Some(ENDPOINT_VARIABLE))
    } else if let Some(Endpoint(base)) = of_file.filter(|given| !given.0.is_empty()) {
        (base.clone(), "telemetry.endpoint", None)
    } else {
        return Ok(None);
    };
    let is_whole = variable == Some(TRACES_ENDPOINT_VARIABLE);
    let url = parse(&given, is_whole).with_context(|| format!("`{what}` can't be used"))?;
    check_protocol(environment)?;
    check_compression(environment)?;
    Ok(Some(CollectorConfig {
        url,
        timeout: timeout(environment)?,
        variable,
    }))
}

/// The URL for spans: the given one where it `is_whole`, otherwise behind the base that was given.
/// What is wrong is told without the URL, which may hold a password.
fn parse(given: &str, is_whole: bool) -> anyhow::Result<Url> {
    let Ok(mut url) = Url::parse(given.trim()) else {
        bail!("it is no URL; one looks like `http://localhost:4318`");
    };
    if !["http", "https"].contains(&url.scheme()) {
        bail!("it must begin with `http://` or `https://`");
    }
    if !url.username().is_empty() || url.password().is_some() {
        bail!(
            "it holds a user name or password; remove it, and send a header instead \
             (OTEL_EXPORTER_OTLP_HEADERS)"
        );
    }
    if url.query().is_some() || url.fragment().is_some() {
        bail!("it holds `?` or `#`; give what stands before");
    }
    let path = url.path().trim_end_matches('/').to_owned();
    if !is_whole && !path.ends_with(TRACES_PATH) {
        url.set_path(&format!("{path}{TRACES_PATH}"));
    }
    Ok(url)
}

fn check_protocol(environment: &dyn Fn(&str) -> Option<String>) -> anyhow::Result<()> {
    for variable in PROTOCOL_VARIABLES {
        match environment(variable) {
            None => continue,
            Some(protocol) if protocol.trim() == PROTOCOL => return Ok(()),
            Some(_) => bail!(
                "spans are sent as `{PROTOCOL}`, and {variable} asks for another protocol; unset \
                 it, and name the port on which the collector takes HTTP, mostly 4318"
            ),
        }
    }
    Ok(())
}

/// The exporter reads the variable itself, and of others says what it was built without.
fn check_compression(environment: &dyn Fn(&str) -> Option<String>) -> anyhow::Result<()> {
    let mut given = COMPRESSION_VARIABLES
        .iter()
        .filter_map(|variable| Some((variable, environment(variable)?)));
    match given.next() {
        Some((variable, compression)) if compression != "gzip" => {
            bail!("{variable} must be `gzip`; unset it for requests that aren't compressed")
        }
        _ => Ok(()),
    }
}

fn timeout(environment: &dyn Fn(&str) -> Option<String>) -> anyhow::Result<Duration> {
    for variable in TIMEOUT_VARIABLES {
        if let Some(given) = environment(variable) {
            return match given.trim().parse() {
                Ok(0) | Err(_) => Err(anyhow!(
                    "{variable} must be a whole number of milliseconds, at least 1"
                )),
                Ok(milliseconds) => Ok(Duration::from_millis(milliseconds)),
            };
        }
    }
    Ok(TIMEOUT_DEFAULT)
}

#[cfg(test)]
mod tests {
    use super::{super::parse::parse as parse_file, *};

    fn telemetry(toml: &str, variables: &[(&str, &str)]) -> anyhow::Result<TelemetryConfig> {
        let environment = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let file = parse_file(toml).expect("a usable file");
        file.telemetry(&environment)
    }

    fn url(toml: &str, variables: &[(&str, &str)]) -> Option<String> {
        let config = telemetry(toml, variables).expect("usable settings");
        config.collector.map(|collector| collector.url.to_string())
    }

    fn refused(toml: &str, variables: &[(&str, &str)]) -> String {
        let error = telemetry(toml, variables).expect_err("refused");
        format!("{error:#}")
    }

    const FILE: &str = "[telemetry]\nendpoint = 'http://file:4318'";

    #[test]
    fn nothing_leaves_the_process_unless_a_collector_is_named() {
        assert_eq!(url("", &[]), None);
        assert_eq!(url("[telemetry]\nendpoint = ''", &[]), None);
        for off in [
            ("OTEL_SDK_DISABLED", "TRUE"),
            ("OTEL_TRACES_EXPORTER", "none"),
        ] {
            let named = (ENDPOINT_VARIABLE, "http://variable:4318");
            assert_eq!(url(FILE, &[off, named]), None);
        }
    }

    #[test]
    fn variables_go_before_the_file_and_the_more_particular_one_first() {
        let base = (ENDPOINT_VARIABLE, "http://variable:4318/base/");
        let whole = (TRACES_ENDPOINT_VARIABLE, "http://whole:4318/spans");
        let found = [
            url(FILE, &[]),
            url(FILE, &[base]),
            url(FILE, &[base, whole]),
            url("[telemetry]\nendpoint = 'https://h/v1/traces/'", &[]),
        ];
        assert_eq!(
            found.map(Option::unwrap_or_default),
            [
                "http://file:4318/v1/traces",
                "http://variable:4318/base/v1/traces",
                "http://whole:4318/spans",
                "https://h/v1/traces/",
            ]
        );
    }

    #[test]
    fn an_endpoint_that_is_of_no_use_is_told_by_its_setting_and_not_repeated() {
        let cases = [
            ("collector:4318", "must begin with `http://`"),
            ("hunter2", "is no URL"),
            ("ftp://hunter2", "must begin with `http://`"),
            ("http://hunter2@h", "OTEL_EXPORTER_OTLP_HEADERS"),
            ("http://h/?token=hunter2", "holds `?` or `#`"),
        ];
        for (given, why) in cases {
            let of_variable = refused("", &[(ENDPOINT_VARIABLE, given)]);
            let of_file = refused(&format!("[telemetry]\nendpoint = '{given}'"), &[]);
            assert!(of_variable.starts_with("`OTEL_EXPORTER_OTLP_ENDPOINT` can't be used: "));
            assert!(of_file.starts_with("`telemetry.endpoint` can't be used: "));
            for said in [of_variable, of_file] {
                assert!(said.contains(why), "{said}");
                assert!(!said.contains("hunter2"), "{said}");
            }
        }
    }

    #[test]
    fn another_protocol_or_a_time_out_that_is_none_is_refused_where_spans_are_sent() {
        let grpc = (PROTOCOL_VARIABLES[1], "grpc");
        assert!(refused(FILE, &[grpc]).contains("takes HTTP, mostly 4318"));
        let ours = (PROTOCOL_VARIABLES[0], PROTOCOL);
        assert!(url(FILE, &[grpc, ours]).is_some());
        assert_eq!(url("", &[grpc]), None);
        let zstd = (COMPRESSION_VARIABLES[0], "zstd");
        assert!(refused(FILE, &[zstd]).contains("must be `gzip`"));
        assert!(url(FILE, &[(COMPRESSION_VARIABLES[1], "gzip")]).is_some());
        let timeout = (TIMEOUT_VARIABLES[1], "2500");
        let config = telemetry(FILE, &[timeout]).expect("usable settings");
        let timeout = config.collector.map(|collector| collector.timeout);
        assert_eq!(timeout, Some(Duration::from_millis(2_500)));
        for given in ["0", "2s", "-1"] {
            let said = refused(FILE, &[(TIMEOUT_VARIABLES[0], given)]);
            assert!(said.contains("milliseconds"), "{said}");
        }
    }

    #[test]
    fn a_key_stands_in_a_variable_or_in_a_file_of_its_own() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("key");
        std::fs::write(&path, "0123456789abcdef\r\n").expect("write the key");
        let of_file = format!("[telemetry]\nscope_hash_key_file = '{}'", path.display());
        let usual = [(KEY_VARIABLE, "0123456789abcdef")];
        let other = [("OTHER", "0123456789abcdef")];
        let named = "[telemetry]\nscope_hash_key_env = 'OTHER'";
        for (toml, variables) in [("", &usual), (named, &other), (&of_file, &other)] {
            let config = telemetry(toml, variables).expect("usable settings");
            assert!(config.scope_hash_key.is_some(), "{toml}");
            assert!(!format!("{config:?}").contains("0123"));
        }
        let declined = "[telemetry]\nscope_hash_key_env = ''";
        for (toml, variables) in [("", &other), (declined, &usual)] {
            let config = telemetry(toml, variables).expect("usable settings");
            assert!(config.scope_hash_key.is_none(), "{toml}");
        }
    }

    #[test]
    fn a_key_that_is_missing_or_too_short_is_told_without_it() {
        let both = "[telemetry]\nscope_hash_key_env = 'OTHER'\nscope_hash_key_file = 'x'";
        assert!(refused(both, &[]).contains("leave one of them out"));
        let missing = refused("[telemetry]\nscope_hash_key_env = 'OTHER'", &[]);
        assert!(missing.contains("`OTHER`"), "{missing}");
        let in_its_place = refused("[telemetry]\nscope_hash_key_env = 'hunter2'", &[]);
        assert!(
            in_its_place.contains("in capital letters"),
            "{in_its_place}"
        );
        let short = refused("", &[(KEY_VARIABLE, "hunter2")]);
        assert!(short.contains("openssl rand"), "{short}");
        let no_file = refused("[telemetry]\nscope_hash_key_file = '/nowhere/key'", &[]);
        assert!(no_file.contains("`/nowhere/key`"), "{no_file}");
        for said in [in_its_place, short] {
            assert!(!said.contains("hunter2"), "{said}");
        }
    }
}
