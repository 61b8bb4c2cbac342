//! Cases, and a reader of their fields that notices what nobody read.

use std::{
    cell::RefCell,
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::strings::{is_unencodable, unwrap_strings};

/// Names the directory to read in place of the committed one.
const DIRECTORY_VARIABLE: &str = "NOTEKEEPER_VECTORS";

/// Keys of expectations that hold information, at any depth: how stores of the peer misbehaved,
/// which of them a list of results is from, and what its exceptions are called.
const INFORMATION: [&str; 3] = ["store_differences", "stores", "exception"];

/// All cases of one topic.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct VectorFile {
    pub(crate) topic: String,
    #[serde(rename = "source")]
    _source: String,
    #[serde(rename = "notes")]
    _notes: Vec<String>,
    pub(crate) cases: Vec<Case>,
}

/// One observation.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    /// Filled in from the file.
    #[serde(skip)]
    pub(crate) topic: String,
    pub(crate) id: String,
    pub(crate) given: Value,
    pub(crate) expect: Value,
    #[serde(default, rename = "tags")]
    _tags: Vec<String>,
}

/// Why a case has no answer.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The case asks for something that this runner doesn't know.
    NotUnderstood(String),
    /// A text has a lone surrogate, so no Rust string holds it.
    Unencodable(Value),
    /// What the case puts into the store beforehand is refused; the code says why.
    SeedRefused(&'static str),
    /// Something broke.
    Broken(anyhow::Error),
}

impl<E: Into<anyhow::Error>> From<E> for Stop {
    fn from(error: E) -> Self {
        Self::Broken(error.into())
    }
}

/// An answer, in the shape of the case's expectation.
pub(crate) type Answer = Result<Value, Stop>;

/// The directory that is read: the one that the environment names, seen from the root of the
/// repository (tests run in the directory of their package), or the committed one.
pub(crate) fn directory() -> PathBuf {
    std::env::var_os(DIRECTORY_VARIABLE)
        .filter(|name| !name.is_empty())
        .map_or_else(committed_directory, |name| root().join(name))
}

/// The directory of the committed cases.
pub(crate) fn committed_directory() -> PathBuf {
    root().join("tests/vectors/data")
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Names of the files in the directory, without `.json`.
pub(crate) fn topics_in(directory: &Path) -> Result<Vec<String>> {
    let mut topics = Vec::new();
    let entries = std::fs::read_dir(directory)
        .with_context(|| format!("can't read the vectors in {}", directory.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "json")
            && let Some(stem) = path.file_stem()
        {
            topics.push(stem.to_string_lossy().into_owned());
        }
    }
    topics.sort();
    Ok(topics)
}

/// Reads one topic.
pub(crate) fn read_topic(directory: &Path, topic: &str) -> Result<VectorFile> {
    let path = directory.join(format!("{topic}.json"));
    let text =
        std::fs::read_to_string(&path).with_context(|| format!("can't read {}", path.display()))?;
    let mut file: VectorFile = serde_json::from_str(&text)
        .with_context(|| format!("{} has another form", path.display()))?;
    anyhow::ensure!(
        file.topic == topic,
        "{} says that its topic is `{}`",
        path.display(),
        file.topic
    );
    for case in &mut file.cases {
        topic.clone_into(&mut case.topic);
        case.given = unwrap_strings(case.given.take()).with_context(|| case.id.clone())?;
        case.expect = unwrap_strings(case.expect.take()).with_context(|| case.id.clone())?;
    }
    Ok(file)
}

impl Case {
    /// The fields of `given`.
    pub(crate) fn fields(&self) -> Result<Fields<'_>, Stop> {
        Fields::of("given", &self.given)
    }

    /// The expectation without information.
    pub(crate) fn expectation(&self) -> Value {
        without_information(self.expect.clone())
    }
}

fn without_information(value: Value) -> Value {
    match value {
        Value::Array(items) => Value::Array(items.into_iter().map(without_information).collect()),
        Value::Object(map) => Value::Object(
            map.into_iter()
                .filter(|(key, _)| !INFORMATION.contains(&key.as_str()))
                .map(|(key, item)| (key, without_information(item)))
                .collect(),
        ),
        plain => plain,
    }
}

/// Fields of one object of a case. What isn't read by the time of [`Fields::done`] isn't
/// understood.
#[derive(Debug)]
pub(crate) struct Fields<'a> {
    place: String,
    map: &'a Map<String, Value>,
    read: RefCell<BTreeSet<String>>,
}

impl<'a> Fields<'a> {
    /// The fields of `value`, which stands at `place`.
    pub(crate) fn of(place: &str, value: &'a Value) -> Result<Self, Stop> {
        let map = value
            .as_object()
            .ok_or_else(|| Stop::NotUnderstood(format!("`{place}` is no object")))?;
        Ok(Self {
            place: place.to_owned(),
            map,
            read: RefCell::default(),
        })
    }

    /// A field, if it is there.
    pub(crate) fn get(&self, key: &str) -> Option<&'a Value> {
        self.read.borrow_mut().insert(key.to_owned());
        self.map.get(key)
    }

    /// The names of the fields.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &'a str> {
        self.map.keys().map(String::as_str)
    }

    /// A field that isn't null, if it is there.
    pub(crate) fn get_set(&self, key: &str) -> Option<&'a Value> {
        self.get(key).filter(|value| !value.is_null())
    }

    /// A field that must be there.
    pub(crate) fn need(&self, key: &str) -> Result<&'a Value, Stop> {
        self.get(key)
            .ok_or_else(|| self.complain(key, "is missing"))
    }

    /// A text that must be there.
    pub(crate) fn text(&self, key: &str) -> Result<&'a str, Stop> {
        self.need(key).and_then(|value| self.as_text(key, value))
    }

    /// A text, if it is there and not null.
    pub(crate) fn text_or_null(&self, key: &str) -> Result<Option<&'a str>, Stop> {
        self.get_set(key)
            .map(|value| self.as_text(key, value))
            .transpose()
    }

    /// An integer, if it is there.
    pub(crate) fn integer(&self, key: &str) -> Result<Option<i64>, Stop> {
        self.get_set(key)
            .map(|value| {
                value
                    .as_i64()
                    .ok_or_else(|| self.complain(key, "is no integer"))
            })
            .transpose()
    }

    /// A bound, if it is there: a natural number.
    pub(crate) fn bound(&self, key: &str) -> Result<Option<usize>, Stop> {
        self.integer(key)?
            .map(|value| usize::try_from(value).map_err(|_| self.complain(key, "is below zero")))
            .transpose()
    }

    /// A list that must be there.
    pub(crate) fn list(&self, key: &str) -> Result<&'a [Value], Stop> {
        self.need(key)?
            .as_array()
            .map(Vec::as_slice)
            .ok_or_else(|| self.complain(key, "is no list"))
    }

    /// An object that must be there.
    pub(crate) fn object(&self, key: &str) -> Result<Self, Stop> {
        Self::of(&format!("{}.{key}", self.place), self.need(key)?)
    }

    /// Refuses what nobody read.
    pub(crate) fn done(self) -> Result<(), Stop> {
        let read = self.read.into_inner();
        match self.map.keys().find(|key| !read.contains(*key)) {
            Some(key) => Err(Stop::NotUnderstood(format!(
                "`{}.{key}` is not understood",
                self.place
            ))),
            None => Ok(()),
        }
    }

    /// A complaint about a field.
    pub(crate) fn complain(&self, key: &str, what: &str) -> Stop {
        Stop::NotUnderstood(format!("`{}.{key}` {what}", self.place))
    }

    fn as_text(&self, key: &str, value: &'a Value) -> Result<&'a str, Stop> {
        match value {
            Value::String(text) => Ok(text),
            _ if is_unencodable(value) => Err(Stop::Unencodable(value.clone())),
            _ => Err(self.complain(key, "is no string")),
        }
    }
}
