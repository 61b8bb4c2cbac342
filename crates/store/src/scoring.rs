//! Scoring notes without keeping other tasks waiting.

use notekeeper_domain::Scan;

/// Scores one note. Scoring is work, and there can be many megabytes of it: other tasks get their
/// turn each fraction of a millisecond.
pub(crate) async fn score(scan: &mut Scan<'_>, name: &str, content: &str) {
    let mut scoring = scan.begin(name, content);
    while scoring.proceed() {
        tokio::task::yield_now().await;
    }
}
