//! The rules of Notekeeper, as pure functions and values.
//!
//! Nothing here reads a clock, a file, the environment or a random source, and nothing is
//! asynchronous: workflow code, activities and stores share these rules, and a replay must
//! come to the same result as the first run.
//!
//! A *character* is a Unicode code point everywhere.

mod conversation;
mod edit;
mod escape;
mod expected;
mod fact;
mod files;
mod full_text;
mod grounding;
mod guidance;
mod history;
mod item;
mod limits;
mod lowering;
mod message;
mod nearest;
mod note_name;
mod operation;
mod outline;
mod placement;
mod query_words;
mod recall;
mod refusal;
mod scope;
mod scratchpad;
mod search;
mod snapshot;
mod source_name;
mod source_tool;
mod stored_message;
mod text;
mod tools;
mod version;
mod write_metadata;

#[cfg(test)]
mod deadline;

pub use conversation::{CONVERSATION_DEFAULT, ConversationId, InvalidConversation};
pub use edit::{AppliedEdit, Edit, WriteStatus};
pub use escape::escape_stored_text;
pub use expected::{expected_in_json, in_words_of_toml};
pub use fact::{Fact, FactKey, InvalidFact};
pub use files::VisibleFiles;
pub use full_text::{
    FullText, PASSAGE_CHARS_MAX, Passage, RankedText, RankedTexts, passages, text_terms,
};
pub use grounding::{
    GROUNDING_HEADER, GROUNDING_TOKENS_DEFAULT, GROUNDING_TOKENS_MAX, GroundingStyle,
    InvalidItemFormat, ItemFormat, RenderedItems, items_for_model,
};
pub use guidance::{DEFAULT_GUIDANCE, rendered_guidance};
pub use history::{
    EXACTLY_ONE_POLICY, HistoryPlan, HistoryPolicy, HistoryView, InvalidHistory, SummaryMark,
    SummaryOrder, SummaryPolicy, SummaryRequest, TokensPolicy, WindowPolicy, check_policies,
    fit_summary, plan, summary_request, summary_text, whole_exchanges,
};
pub use item::{
    InvalidItem, InvalidWhere, Item, ItemMetadata, RecordIds, Where, check_item_id, taken_id,
};
pub use limits::*;
pub use message::{Message, ToolCall, UserPart, distinct_call_ids};
pub use nearest::{meant, nearest, with_nearest};
pub use note_name::{InvalidNoteName, NoteName};
pub use operation::{
    Fingerprint, InvalidOperation, Operation, OperationId, canonical_json, readable_json,
};
pub use outline::{MessageOutline, outline, outline_of, text_tokens};
pub use placement::{Block, is_block_of, place_blocks, remove_blocks};
pub use query_words::query_words;
pub use recall::{
    FACT_TERMS_MAX, RECALL_QUERY_CHARS_MAX, RECALL_SUBSTRINGS_MAX, RECALL_TERMS_MAX, Recall,
    RecallCandidate, RecallQuery, RecalledFact, TERM_BYTES_MAX, TERM_CHARS_MAX, fact_terms,
    folded_fact, prefix_end,
};
pub use refusal::Refusal;
pub use scope::{
    InvalidScope, Scope, SegmentFault, check_store_path, check_store_prefix, short_hash,
};
pub use scratchpad::{
    SCRATCHPAD_KEY, keyed_text, scratchpad_entry, scratchpad_items, scratchpad_value, unkeyed_text,
};
pub use search::{Scan, Scoring, SearchAnswer, SearchLimits, SearchMatch, SearchQuery};
pub use snapshot::{
    MainNote, MainPart, Notebook, RenderSettings, Rendered, SnapshotCounts, render_snapshot,
    snapshot_digest,
};
pub use source_name::{InvalidSourceName, check_source_name};
pub use source_tool::{
    HYBRID_SEARCH, HYBRID_SOURCE, TOOL_NAME_BYTES_MAX, source_tool, source_tool_name,
};
pub use stored_message::{InvalidMessage, StoredMessage};
pub use text::{char_prefix, char_suffix, is_blank, is_space, trim_end_space, trim_space};
pub use tools::{
    DELETE_MEMORY, FORGET, OfferedTools, READ_MEMORY, RECALL, REMEMBER, SEARCH_MEMORY,
    ToolDefinition, WRITE_MEMORY, fact_tools, memory_tools, offered_memory_tools, read_result_text,
    tool_name,
};
pub use version::Version;
pub use write_metadata::{InvalidMetadata, WriteMetadata};
