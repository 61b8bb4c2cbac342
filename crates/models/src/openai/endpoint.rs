//! Where requests go, and what authorises them.

use async_openai::config::Config;
use reqwest::{
    Url,
    header::{AUTHORIZATION, HeaderMap, HeaderValue},
};
use secrecy::{ExposeSecret as _, SecretString};

use super::options::{ApiKey, OpenAiError};

/// An endpoint. async-openai's own settings would read the environment, which only the worker
/// does, and would send an empty token where there is no key.
#[derive(Clone)]
pub(super) struct Endpoint {
    base_url: String,
    headers: HeaderMap,
    key: SecretString,
    is_secure: bool,
    is_local: bool,
}

impl Endpoint {
    pub(super) fn new(base_url: &str, api_key: Option<&ApiKey>) -> Result<Self, OpenAiError> {
        let url = parse(base_url)?;
        let key = match api_key {
            Some(key) => key.0.clone(),
            None => SecretString::default(),
        };
        let mut headers = HeaderMap::new();
        if !key.expose_secret().is_empty() {
            let token = format!("Bearer {}", key.expose_secret());
            let mut token = HeaderValue::from_str(&token).map_err(|_| OpenAiError::ApiKey)?;
            token.set_sensitive(true);
            headers.insert(AUTHORIZATION, token);
        }
        Ok(Self {
            base_url: url.as_str().trim_end_matches('/').to_owned(),
            headers,
            key,
            is_secure: url.scheme() == "https",
            is_local: is_local(&url),
        })
    }

    /// Whether TLS is spoken.
    pub(super) fn is_secure(&self) -> bool {
        self.is_secure
    }

    /// Whether the endpoint is on this machine, where no proxy leads to.
    pub(super) fn is_local(&self) -> bool {
        self.is_local
    }
}

impl Config for Endpoint {
    fn headers(&self) -> HeaderMap {
        self.headers.clone()
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base_url)
    }

    fn query(&self) -> Vec<(&str, &str)> {
        Vec::new()
    }

    fn api_base(&self) -> &str {
        &self.base_url
    }

    fn api_key(&self) -> &SecretString {
        &self.key
    }
}

fn parse(base_url: &str) -> Result<Url, OpenAiError> {
    let refuse = |why| Err(OpenAiError::BaseUrl(why));
    let Ok(url) = Url::parse(base_url.trim()) else {
        return refuse("is no URL; it looks like `http://localhost:8080/v1`");
    };
    if !["http", "https"].contains(&url.scheme()) {
        return refuse("must begin with `http://` or `https://`");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return refuse(
            "holds a user name or password; remove it, and put the key into the variable that \
             `api_key_env` names",
        );
    }
    if url.query().is_some() || url.fragment().is_some() {
        return refuse("holds `?` or `#`; give what stands before");
    }
    let path = url.path().trim_end_matches('/');
    if path.ends_with("/chat/completions") {
        return refuse(
            "ends with `/chat/completions`, which is added to it; give what stands before",
        );
    }
    if path.ends_with("/embeddings") {
        return refuse("ends with `/embeddings`, which is added to it; give what stands before");
    }
    Ok(url)
}

/// Whether what is sent to this base URL leaves the machine without TLS. Not of a URL that can't be
/// used: a model with it is refused.
#[must_use]
pub fn goes_in_clear(base_url: &str) -> bool {
    parse(base_url).is_ok_and(|url| url.scheme() == "http" && !is_local(&url))
}

fn is_local(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let address = host.parse::<std::net::IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(base_url: &str) -> Result<Endpoint, OpenAiError> {
        Endpoint::new(base_url, None)
    }

    #[test]
    fn a_slash_at_the_end_of_the_base_url_changes_nothing() {
        for base_url in ["http://h/v1", "http://h/v1/", " http://h/v1\n"] {
            let endpoint = endpoint(base_url).unwrap();
            assert_eq!(
                endpoint.url("/chat/completions"),
                "http://h/v1/chat/completions"
            );
        }
    }

    #[test]
    fn a_base_url_that_cannot_be_used_is_refused_without_being_quoted() {
        let base_urls = [
            "",
            "hunter2",
            "ftp://hunter2.example",
            "https://app:hunter2@h/v1",
            "https://hunter2@h/v1",
            "https://h/v1?key=hunter2",
            "https://h/v1#hunter2",
            "https://hunter2/v1/chat/completions/",
            "https://hunter2/v1/embeddings",
        ];
        let said: Vec<String> = base_urls
            .iter()
            .map(|base_url| match endpoint(base_url) {
                Ok(_) => panic!("`{base_url}` is taken"),
                Err(error) => error.to_string(),
            })
            .collect();
        assert!(said.iter().all(|said| !said.contains("hunter2")));
        insta::assert_snapshot!(said.join("\n"));
    }

    #[test]
    fn an_endpoint_on_this_machine_is_known_by_its_host() {
        let is_local = |base_url| endpoint(base_url).unwrap().is_local();
        for base_url in [
            "http://localhost:1/v1",
            "http://127.0.0.1",
            "http://[::1]:8080",
        ] {
            assert!(is_local(base_url), "{base_url}");
        }
        for base_url in [
            "https://api.openai.com/v1",
            "http://10.0.0.1",
            "http://localhost.example",
        ] {
            assert!(!is_local(base_url), "{base_url}");
        }
    }
}
