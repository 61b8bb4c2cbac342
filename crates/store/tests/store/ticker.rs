//! A search stalls nothing that runs beside it on the same thread.
//!
//! A ticker is to tick each millisecond, and says how late it was. How late it is depends on the
//! machine as well: a thread that could run, but isn't run, is late without any fault of the search.
//! Linux counts that time for each thread, and it is taken off. For what else a machine may do, a
//! second ticker runs meanwhile on a thread of its own that does nothing else: where that one was
//! late too, the measurement says nothing, and another is made. A search that holds up its thread
//! does so each time.

use std::{
    fs::File,
    os::unix::fs::FileExt as _,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use notekeeper_domain::{Scan, Scope, SearchLimits, SearchQuery};
use notekeeper_store::{
    CHUNKS_KEPT_MAX, EMBEDDING_DIMENSIONS_MAX, InMemoryStore, Store, WriteRequest,
    conformance::MinimalStore,
};
use tokio::time::MissedTickBehavior;

use crate::{
    database::{Database, name, scope},
    database_file::DatabaseFile,
    file_root::FileRoot,
    vectors::{chunk, collection, nearest},
};

const NOTES: usize = 1_000;
const NOTE_CHARS: usize = 64 * 1024;

/// Latest that a tick may be.
const LATE_MAX: Duration = Duration::from_millis(50);

/// The other ticker's lateness from which on the machine, not the search, is to blame.
const MACHINE_LATE_MAX: Duration = Duration::from_millis(20);

/// Measurements in which the machine kept up and the search's ticker was late, until it counts.
const LATE_MEASUREMENTS: usize = 3;

/// Longest that measurements go on.
const PATIENCE: Duration = Duration::from_secs(100);

const LIMITS: SearchLimits = SearchLimits {
    results_max: 10,
    result_chars_max: 4_000,
    files_max: NOTES,
    note_chars_max: NOTE_CHARS,
};

/// What the ticker ticks beside.
fn query() -> SearchQuery {
    SearchQuery::parse("needle HAY nowhere").expect("a valid query")
}

/// Text of one note. Every note matches, so none is left out by a database.
fn text() -> String {
    let line = "some Hay, and more of it, which isn't what was looked for\n";
    let mut text = line.repeat(NOTE_CHARS / line.len());
    text.push_str("a needle");
    text
}

/// How long the thread that made this could run and wasn't run.
struct Unserved(Option<File>);

impl Unserved {
    fn of_this_thread() -> Self {
        Self(File::open("/proc/thread-self/schedstat").ok())
    }

    /// So far; always nothing where the system doesn't say.
    fn so_far(&self) -> Duration {
        let mut text = [0; 100];
        let length = self
            .0
            .as_ref()
            .and_then(|file| file.read_at(&mut text, 0).ok());
        let text = String::from_utf8_lossy(&text[..length.unwrap_or(0)]);
        // Time that it ran, time that it waited to be run, and how often, in nanoseconds.
        let waited = text.split_whitespace().nth(1);
        Duration::from_nanos(waited.and_then(|nanos| nanos.parse().ok()).unwrap_or(0))
    }
}

/// A ticker that goes on until it is told to stop, and gives how late it was at worst, as far as the
/// machine ran its thread.
async fn tick_until(stop: Arc<AtomicBool>) -> Duration {
    let unserved = Unserved::of_this_thread();
    let mut ticks = tokio::time::interval(Duration::from_millis(1));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut latest = Duration::ZERO;
    let mut before = unserved.so_far();
    while !stop.load(Ordering::SeqCst) {
        let due = ticks.tick().await;
        let late = due.elapsed();
        let now = unserved.so_far();
        latest = latest.max(late.saturating_sub(now - before));
        before = now;
    }
    latest
}

/// A ticker on a thread of its own.
fn tick_apart(stop: Arc<AtomicBool>) -> std::thread::JoinHandle<Duration> {
    std::thread::spawn(move || {
        tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .expect("a runtime")
            .block_on(tick_until(stop))
    })
}

/// How late a ticker was beside the work, at worst, and how late one apart from it was.
async fn lateness<T>(work: impl Future<Output = T>) -> (T, Duration, Duration) {
    let stop = Arc::new(AtomicBool::new(false));
    let apart = tick_apart(Arc::clone(&stop));
    let beside = tokio::spawn(tick_until(Arc::clone(&stop)));
    // The ticker's first poll.
    tokio::task::yield_now().await;
    let done = work.await;
    stop.store(true, Ordering::SeqCst);
    let beside = beside.await.expect("the ticker ends");
    (done, beside, apart.join().expect("the ticker apart ends"))
}

async fn assert_stalls_nothing<S: Store>(store: &S, scope: &Scope) {
    let search = async || {
        let answer = store.search(scope, &query(), &LIMITS).await;
        let answer = answer.expect("search answers");
        assert_eq!((answer.scanned, answer.matches.len()), (NOTES, 1));
    };
    assert_work_stalls_nothing(store.kind(), search).await;
}

/// Searches beside a ticker until a measurement shows whether the ticker is in time.
async fn assert_work_stalls_nothing(kind: &str, search: impl AsyncFn()) {
    let began = Instant::now();
    let mut late = Vec::new();
    while late.len() < LATE_MEASUREMENTS && began.elapsed() < PATIENCE {
        let ((), beside, apart) = lateness(search()).await;
        if beside <= LATE_MAX {
            return;
        }
        println!("a tick was {beside:?} late beside the search, {apart:?} apart from it");
        if apart <= MACHINE_LATE_MAX {
            late.push(beside);
        }
    }
    assert!(
        late.len() < LATE_MEASUREMENTS,
        "{kind} holds up its thread: {late:?}"
    );
    println!("the machine was too busy all the time to learn anything");
}

async fn fill<S: Store>(store: &S, scope: &Scope) {
    let text = text();
    for note in 0..NOTES {
        let request = WriteRequest::new(&text, &notekeeper_store::Expected::Any);
        store
            .write(scope, &name(&format!("n{note:04}.md")), &request, None)
            .await
            .expect("write");
    }
}

/// On one thread, where whoever doesn't yield holds up everyone.
fn on_one_thread(test: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime")
        .block_on(test);
}

#[test]
fn a_long_search_in_memory_stalls_nothing() {
    on_one_thread(async {
        let (store, scope) = (InMemoryStore::default(), scope("busy/main"));
        fill(&store, &scope).await;
        assert_stalls_nothing(&store, &scope).await;
    });
}

#[test]
fn a_long_search_of_a_store_that_has_none_of_its_own_stalls_nothing() {
    on_one_thread(async {
        let (store, scope) = (MinimalStore::default(), scope("busy/main"));
        fill(&store, &scope).await;
        assert_stalls_nothing(&store, &scope).await;
    });
}

#[test]
fn a_long_search_in_sqlite_stalls_nothing() {
    on_one_thread(async {
        let file = DatabaseFile::new();
        let (store, scope) = (file.store().await, scope("busy/main"));
        sqlx::query(
            "insert into notes (scope, name, content, chars, version) \
             with recursive numbers (n) as (select 0 union all select n + 1 from numbers where n < $1 - 1) \
             select $2, printf('n%04d.md', n), $3, length($3), n + 1 from numbers",
        )
        .bind(i64::try_from(NOTES).expect("a small number"))
        .bind(scope.as_str())
        .bind(text())
        .execute(&mut file.connection().await)
        .await
        .expect("fill");
        assert_stalls_nothing(&store, &scope).await;
        store.close().await;
    });
}

#[test]
fn a_long_search_in_files_stalls_nothing() {
    on_one_thread(async {
        let (root, scope) = (FileRoot::new(), scope("busy/main"));
        let store = root.store().await;
        std::fs::create_dir_all(root.path("busy/main")).expect("a directory of notes");
        for note in 0..NOTES {
            let path = root.path(&format!("busy/main/n{note:04}.md"));
            std::fs::write(path, text()).expect("a note");
        }
        assert_stalls_nothing(&store, &scope).await;
    });
}

#[test]
fn a_long_search_in_postgres_stalls_nothing() {
    on_one_thread(async {
        let database = Database::migrated().await;
        let (store, scope) = (database.store(), scope("busy/main"));
        sqlx::query(
            "insert into notes (scope, name, content, chars, version) \
             select $2, format('n%s.md', lpad(n::text, 4, '0')), $3, char_length($3), n + 1 \
             from generate_series(0, $1 - 1) as n",
        )
        .bind(i64::try_from(NOTES).expect("a small number"))
        .bind(scope.as_str())
        .bind(text())
        .execute(&mut database.connection().await)
        .await
        .expect("fill");
        assert_stalls_nothing(&store, &scope).await;
        store.close().await;
    });
}

/// Keeps large embeddings, as many at once as may be, and looks through all of them.
async fn assert_vectors_stall_nothing<S: Store>(store: &S) {
    let vectors = store.vectors().expect("it keeps vectors");
    let (scope, main) = (scope("busy/main"), collection("main"));
    let embedding: Vec<f32> = (0..EMBEDDING_DIMENSIONS_MAX).map(|n| n as f32).collect();
    let chunks = (0..CHUNKS_KEPT_MAX).map(|n| chunk(&n.to_string(), &embedding));
    let chunks: Vec<_> = chunks.collect();
    let keep = async || {
        let kept = vectors.keep_chunks(&scope, &main, &chunks, None).await;
        kept.expect("keep");
    };
    assert_work_stalls_nothing(store.kind(), keep).await;
    let find = async || {
        let found = nearest(vectors, &scope, &embedding, 10).await;
        assert_eq!(found.expect("found").len(), 10);
    };
    assert_work_stalls_nothing(store.kind(), find).await;
}

#[test]
fn many_large_embeddings_in_memory_stall_nothing() {
    on_one_thread(assert_vectors_stall_nothing(&InMemoryStore::default()));
}

#[test]
fn many_large_embeddings_in_sqlite_stall_nothing() {
    on_one_thread(async {
        let file = DatabaseFile::new();
        assert_vectors_stall_nothing(&file.store().await).await;
    });
}

/// Not of a store: it shows that the ticker would tell.
#[test]
fn a_scan_that_never_yields_is_seen_to_hold_up_its_thread() {
    on_one_thread(async {
        let (query, text) = (query(), text());
        let scan = async {
            let mut scan = Scan::new(&query, LIMITS);
            let (began, unserved) = (Instant::now(), Unserved::of_this_thread());
            let before = unserved.so_far();
            // However fast the machine is, and however busy.
            while began.elapsed() < 2 * LATE_MAX + (unserved.so_far() - before) {
                scan.add("a.md", &text);
            }
        };
        let ((), beside, _) = lateness(scan).await;
        assert!(beside > LATE_MAX, "{beside:?}");
    });
}
