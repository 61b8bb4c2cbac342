//! Bounds and defaults, each with its unit and where the number comes from.

/// File name of the main note.
pub const MAIN_NOTE: &str = "MEMORY.md";

/// Agent name used where a caller gives none.
pub const AGENT_NAME_DEFAULT: &str = "main";

/// Longest path segment, in characters (ASCII, so bytes too).
pub const SEGMENT_CHARS_MAX: usize = 200;

/// Longest scope, in characters (ASCII, so bytes too).
///
/// PostgreSQL refuses index rows over 2,704 bytes. The key of a note is scope and name, so
/// 2,000 + 200 leaves room for both and for headers; receipts and snapshots use the same bound
/// with ids of at most [`OPERATION_ID_CHARS_MAX`].
pub const SCOPE_CHARS_MAX: usize = 2_000;

/// Longest note name that a tool may address, `.md` included, in characters.
pub const TOOL_NAME_CHARS_MAX: usize = 80;

/// Longest operation id that a caller may choose, in characters. Derived ids have 64.
pub const OPERATION_ID_CHARS_MAX: usize = 200;

/// Characters counted as one token wherever a budget is given in tokens.
pub const CHARS_PER_TOKEN: usize = 4;

/// Default total budget of guidance and block, in tokens.
pub const TOKENS_MAX_DEFAULT: usize = 2_000;

/// Default cap on lines of the main note in a block.
pub const LINES_MAX_DEFAULT: usize = 200;

/// Default bound of one note, for reads, searches and writes, in characters.
pub const NOTE_CHARS_MAX_DEFAULT: usize = 65_536;

/// Default cap on matches that one search returns.
pub const SEARCH_RESULTS_MAX_DEFAULT: usize = 10;

/// Default cap on file names and snippets of one search together, in characters.
pub const SEARCH_RESULT_CHARS_MAX_DEFAULT: usize = 4_000;

/// Default cap on notes that one search examines.
pub const SEARCH_FILES_MAX_DEFAULT: usize = 1_000;

/// Default cap on notes that one listing returns. At the longest names that is a tenth of what
/// Temporal carries in one result.
pub const LISTED_FILES_MAX_DEFAULT: usize = 1_000;

/// Longest search query, in characters, measured before trimming.
pub const QUERY_CHARS_MAX: usize = 1_000;

/// Most distinct terms of a search query.
pub const QUERY_TERMS_MAX: usize = 32;

/// Longest write metadata, in characters of its JSON text. It travels with every read of a note, so
/// it holds who wrote and a reference or two, and no second note.
pub const WRITE_METADATA_CHARS_MAX: usize = 4_096;

/// Longest conversation id, in bytes of UTF-8. The key of a message is scope, conversation and
/// position: 2,000 + 200 bytes and a number stay below the 2,704 that PostgreSQL allows.
pub const CONVERSATION_ID_BYTES_MAX: usize = 200;

/// Largest message of a transcript, in bytes of its JSON: half of what one result carries, so that
/// a page of messages always has room for one.
pub const MESSAGE_BYTES_MAX: usize = 512 * 1024;

/// Most levels of lists and objects that stand in one another in a message, itself among them. Readers
/// of JSON go no deeper than 127 or so, and answers have messages a few levels down.
pub const MESSAGE_LEVELS_MAX: usize = 100;

/// Longest role of a message, in bytes.
pub const ROLE_BYTES_MAX: usize = 64;

/// Most messages that are added at once.
pub const MESSAGES_ADDED_MAX: usize = 1_000;

/// Most messages of a transcript that one model request names. No model reads so many.
pub const REQUEST_MESSAGES_MAX: usize = 20_000;

/// Longest key of a fact, in bytes of UTF-8. An index row holds it beside scope and term.
pub const FACT_KEY_BYTES_MAX: usize = 500;

/// Longest value of a fact, in characters. What is longer belongs into a note.
pub const FACT_VALUE_CHARS_MAX: usize = 16_384;

/// Facts that a recall returns where the caller doesn't say how many.
pub const RECALL_LIMIT_DEFAULT: usize = 10;

/// Most facts that a recall returns.
pub const RECALL_LIMIT_MAX: usize = 1_000;

/// Most facts, or conversations, that one list has.
pub const LISTED_MAX: usize = 1_000;

/// Most items that a query of a source returns.
pub const SOURCE_LIMIT_MAX: usize = 100;

/// Items that a query of a source returns where the caller doesn't say how many.
pub const SOURCE_LIMIT_DEFAULT: usize = 5;

/// Longest query of a source, in characters; what comes after them isn't looked for. A query may be
/// the whole task of a user, and no model of embeddings reads more.
pub const SOURCE_QUERY_CHARS_MAX: usize = 8_192;

/// Most words of a query that are looked for as they are written: each is looked for in all of a text.
pub const QUERY_WORDS_MAX: usize = 32;

/// Most values that lists of a query's conditions have together: each is compared with all values of a
/// list of each item.
pub const WHERE_VALUES_MAX: usize = 100;

/// Most items that are written at once.
pub const ITEMS_WRITTEN_MAX: usize = 100;

/// Longest content of an item that is kept, in characters: that of a note.
pub const ITEM_CHARS_MAX: usize = 65_536;

/// Longest id of an item that is kept, in bytes of UTF-8. An index row holds it beside scope and
/// collection.
pub const ITEM_ID_BYTES_MAX: usize = 400;

/// Largest metadata of an item that is kept, in bytes of its JSON.
pub const ITEM_METADATA_BYTES_MAX: usize = 16 * 1024;

/// Most levels of lists and objects that stand in one another in one value of metadata.
pub const ITEM_METADATA_LEVELS_MAX: usize = 32;

/// Longest name of a source, in bytes.
pub const SOURCE_NAME_BYTES_MAX: usize = 100;

/// Keys under which a query says of an item which sources agree on it, and how many copies there were.
/// They speak of that one answer, so no source keeps them.
pub const ITEM_ORIGINS: [&str; 2] = ["dedupe_sources", "dedupe_count"];
