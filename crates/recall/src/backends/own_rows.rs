//! Whose rows they are that a backend answers with.

use crate::{SourceCall, SourceError};

/// Refuses what a source got, all of it, where one row says that it is another scope's than the call's, or says
/// none: whatever let it in, there may be more of it. To be called with the rows as they come, before any of
/// them is looked at, so that none fills a limit or is passed over first.
///
/// # Errors
///
/// [`SourceError::ForeignScope`].
pub(crate) fn own_rows<'r>(
    source: &str,
    call: &SourceCall<'_>,
    scopes: impl IntoIterator<Item = &'r str>,
) -> Result<(), SourceError> {
    let own = call.scope.as_str();
    match scopes.into_iter().all(|scope| scope == own) {
        true => Ok(()),
        false => Err(SourceError::ForeignScope {
            source_name: source.to_owned(),
        }),
    }
}
