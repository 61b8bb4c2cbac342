//! Defaults of optional fields, as functions for serde.

use notekeeper_domain as domain;

use crate::DEFAULT_STORE;

pub(crate) fn store() -> String {
    DEFAULT_STORE.to_owned()
}

pub(crate) fn main_note() -> String {
    domain::MAIN_NOTE.to_owned()
}

pub(crate) fn max_memory_size() -> usize {
    domain::NOTE_CHARS_MAX_DEFAULT
}

pub(crate) fn max_tokens() -> usize {
    domain::TOKENS_MAX_DEFAULT
}

pub(crate) fn max_lines() -> usize {
    domain::LINES_MAX_DEFAULT
}

pub(crate) fn max_search_results() -> usize {
    domain::SEARCH_RESULTS_MAX_DEFAULT
}

pub(crate) fn max_search_result_chars() -> usize {
    domain::SEARCH_RESULT_CHARS_MAX_DEFAULT
}

pub(crate) fn max_search_files() -> usize {
    domain::SEARCH_FILES_MAX_DEFAULT
}

pub(crate) fn max_listed_files() -> usize {
    domain::LISTED_FILES_MAX_DEFAULT
}

pub(crate) fn read_memory() -> String {
    domain::READ_MEMORY.to_owned()
}

pub(crate) fn search_memory() -> String {
    domain::SEARCH_MEMORY.to_owned()
}

pub(crate) fn model() -> String {
    "default".to_owned()
}

pub(crate) fn conversation() -> String {
    domain::CONVERSATION_DEFAULT.to_owned()
}

pub(crate) fn recall_limit() -> usize {
    domain::RECALL_LIMIT_DEFAULT
}

pub(crate) fn listed() -> usize {
    domain::LISTED_MAX
}

pub(crate) fn source_limit() -> usize {
    domain::SOURCE_LIMIT_DEFAULT
}
