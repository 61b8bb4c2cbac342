//! What a source of the kind `tool` asks: an HTTP endpoint, or an activity of the application's.

mod activity_tool;
mod http_tool;

use std::{collections::BTreeMap, fmt, sync::Arc, time::Duration};

use notekeeper_recall::{MakeSearchTool, SearchTool, ToolSpec};
use reqwest::header::{
    CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue,
    TRANSFER_ENCODING,
};

use crate::config::{environment, names_a_variable};

pub(crate) use self::activity_tool::LateClient;
use self::{activity_tool::ActivityTool, http_tool::HttpTool};

/// Headers that say how the request itself goes; another value would take the arguments away.
const OF_THE_REQUEST: [HeaderName; 5] = [
    CONNECTION,
    CONTENT_LENGTH,
    CONTENT_TYPE,
    HOST,
    TRANSFER_ENCODING,
];

/// Makes the tools that the worker's settings name.
pub(crate) struct SearchTools {
    environment: fn(&str) -> Option<String>,
    temporal: Arc<LateClient>,
}

impl SearchTools {
    /// Tools with headers from this process's variables, and with the activities of this server.
    /// Nothing is connected before a tool is first asked.
    pub(crate) fn new(temporal: Arc<LateClient>) -> Self {
        Self {
            environment,
            temporal,
        }
    }

    /// Tools with headers from these variables, and with no server for activities.
    #[cfg(test)]
    pub(crate) fn with_environment(environment: fn(&str) -> Option<String>) -> Self {
        Self {
            environment,
            temporal: Arc::default(),
        }
    }

    /// Headers whose values stand in variables. Neither values nor what may be one are repeated.
    fn headers(&self, named: &BTreeMap<String, String>) -> Result<HeaderMap, String> {
        let mut headers = HeaderMap::new();
        for (name, variable) in named {
            let name: HeaderName = name
                .parse()
                .map_err(|_| "`headers_env` has a key that is no header's name".to_owned())?;
            if OF_THE_REQUEST.contains(&name) {
                return Err(format!(
                    "`headers_env` has `{name}`, which belongs to the request itself; leave it out"
                ));
            }
            if !names_a_variable(variable) && (self.environment)(variable).is_none() {
                return Err(format!(
                    "`headers_env` gives for `{name}` what doesn't look like the name of a variable, and \
                     no variable is called so; name the variable that holds the value, in capital \
                     letters: the value itself doesn't belong into the file"
                ));
            }
            let value = (self.environment)(variable).ok_or_else(|| {
                format!(
                    "the header `{name}` is expected in the variable `{variable}` (`headers_env`), which is \
                     not set; set it, or leave the header out"
                )
            })?;
            let mut value = HeaderValue::from_str(&value).map_err(|_| {
                format!(
                    "the variable `{variable}` has characters that a header can't carry; check for line \
                     breaks and quotes"
                )
            })?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        Ok(headers)
    }
}

impl fmt::Debug for SearchTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SearchTools")
    }
}

impl MakeSearchTool for SearchTools {
    fn make(&self, _source: &str, tool: &ToolSpec) -> Result<Arc<dyn SearchTool>, String> {
        let timeout = Duration::from_secs(tool.timeout_seconds());
        match tool {
            ToolSpec::Http {
                url,
                headers_env,
                network_is_trusted,
                scope_arg,
                ..
            } => {
                let headers = self.headers(headers_env)?;
                let tool = HttpTool::new(url, headers, timeout)?;
                if !headers_env.is_empty() && tool.goes_in_clear() && !network_is_trusted {
                    return Err(
                        "`url` begins with `http://`, so the headers of `headers_env` would go through \
                         the network in clear text; give one with `https://`, or say \
                         network_is_trusted = true where it is"
                            .to_owned(),
                    );
                }
                Ok(Arc::new(tool.with_scope_arg(scope_arg.clone())))
            }
            ToolSpec::Activity {
                activity,
                task_queue,
                ..
            } => {
                let temporal = Arc::clone(&self.temporal);
                Ok(Arc::new(ActivityTool::new(
                    temporal, activity, task_queue, timeout,
                )?))
            }
        }
    }
}

#[cfg(test)]
mod tests;
