//! The store: how it is opened, and how work gets to the disk.

use std::{
    fmt,
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use tokio::runtime::Handle;

use super::{
    fault::Fault,
    journal::{Journal, Opening, absolute, may_fold_case},
    options::FileOptions,
    place::Walk,
    records::Prepared,
    recovery::recover,
    root::{Lock, Root},
    warnings::Warnings,
};
use crate::StoreError;

/// Notes as Markdown files under a directory, which a person can open and edit.
///
/// A note is at `{root}/{scope}/{name}`. It is replaced as a whole, never half. A hidden journal in
/// the root knows versions, receipts and what is about to be done, so that an operation that was
/// interrupted, wherever it was, is finished or undone by whoever comes next.
///
/// Several stores and processes of one host can use a directory at the same time; a clone shares
/// the journal's connections. What another program does to a file changes the note's version. A
/// program that doesn't know of the journal can still write to a file in the moment between the
/// store's last look at it and its replacement, some microseconds later, and what it wrote is lost
/// then.
///
/// Files are read and written on threads of their own, so no task of the program waits for the
/// disk.
///
/// ```
/// use notekeeper_store::{FileOptions, FileStore};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let directory = tempfile::tempdir()?;
/// let options = FileOptions::new(directory.path().join("notes"));
/// let store = FileStore::open(options).await?;
/// // …
/// store.close().await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct FileStore {
    pub(super) inner: Arc<Inner>,
}

/// What clones share.
pub(super) struct Inner {
    /// From the root of the file system.
    path: PathBuf,
    options: FileOptions,
    /// Mutations of this process take turns, so that one of them asks for the lock.
    turn: Arc<tokio::sync::Mutex<()>>,
    journal: Mutex<Option<Arc<Journal>>>,
    /// Whether something was wrong with the journal when it was used last.
    suspect: AtomicBool,
    closed: AtomicBool,
    warnings: Warnings,
}

impl FileStore {
    /// Opens the directory. Where it is missing it is made, if the one above it is there; so is its
    /// journal. A journal that can't be read is set aside beside it, with a warning, and a new one is
    /// made. Several processes may do so at the same time.
    ///
    /// # Errors
    ///
    /// [`StoreError::InvalidValue`] where the path can't be meant; [`StoreError::Unavailable`]
    /// where the directory isn't there and can't be made, or other processes keep it;
    /// [`StoreError::Unusable`] where something else has its name; [`StoreError::Denied`] where
    /// this user may not write there; [`StoreError::TooNew`] where a newer program made the journal.
    /// None of them says the path.
    pub async fn open(options: FileOptions) -> Result<Self, StoreError> {
        let store = Self {
            inner: Arc::new(Inner {
                path: absolute(&options.root)?,
                options,
                turn: Arc::default(),
                journal: Mutex::default(),
                suspect: AtomicBool::new(false),
                closed: AtomicBool::new(false),
                warnings: Warnings::default(),
            }),
        };
        store.make_where_missing().await?;
        store.run(|work| work.sweep()).await.map(|()| store)
    }

    async fn make_where_missing(&self) -> Result<(), StoreError> {
        if self.is_read_only() || self.inner.options.directory.is_some() {
            return Ok(());
        }
        let path = self.inner.path.clone();
        tokio::task::spawn_blocking(move || Root::make_where_missing(&path))
            .await
            .map_err(|_| StoreError::Unexpected("a thread of the program ended".to_owned()))?
            .map_err(Fault::settled)
    }

    /// Closes the journal: operations in flight end first. Later operations fail as
    /// [`StoreError::Unavailable`].
    pub async fn close(&self) {
        self.inner.closed.store(true, Ordering::Release);
        let _turn = self.inner.turn.lock().await;
        let journal = self.inner.opened().take();
        if let Some(journal) = journal {
            journal.close().await;
        }
    }

    /// Whether mutations are refused.
    pub fn is_read_only(&self) -> bool {
        self.inner.options.read_only
    }

    /// Does work that changes nothing, beside whatever others do.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl Fn(&Work<'_>) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.on_a_thread(work, false, ()).await
    }

    /// Does work that changes notes, with the directory to itself. It is done to its end, also where
    /// nobody waits for it any more.
    pub(super) async fn run_alone<T: Send + 'static>(
        &self,
        work: impl Fn(&Work<'_>) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, StoreError> {
        let turn = Arc::clone(&self.inner.turn).lock_owned();
        let turn = tokio::time::timeout(self.inner.options.busy_timeout, turn).await;
        let turn = turn.map_err(|_| {
            StoreError::Unavailable("other operations keep changing its notes".to_owned())
        })?;
        self.on_a_thread(work, true, turn).await
    }

    async fn on_a_thread<T: Send + 'static>(
        &self,
        work: impl Fn(&Work<'_>) -> Result<T, Fault> + Send + 'static,
        alone: bool,
        turn: impl Send + 'static,
    ) -> Result<T, StoreError> {
        let inner = Arc::clone(&self.inner);
        let runtime = Handle::current();
        let done = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            inner.carry_out(&runtime, alone, &work)
        });
        done.await
            .map_err(|_| StoreError::Unexpected("a thread of the program ended".to_owned()))?
    }
}

impl Inner {
    fn carry_out<T>(
        &self,
        runtime: &Handle,
        mut alone: bool,
        work: &dyn Fn(&Work<'_>) -> Result<T, Fault>,
    ) -> Result<T, StoreError> {
        let mut healed = false;
        loop {
            let done = Work::begin(self, runtime, alone).and_then(|begun| work(&begun));
            match done {
                Err(Fault::InProgress) if !alone => alone = true,
                Err(Fault::Corrupt | Fault::Misfit) if !healed && !self.options.read_only => {
                    healed = true;
                    self.suspect.store(true, Ordering::Release);
                }
                done => return done.map_err(Fault::settled),
            }
        }
    }

    fn root(&self) -> Result<Root, Fault> {
        match &self.options.directory {
            Some(directory) => Root::opened(directory, &self.path),
            None => Root::open(&self.path),
        }
    }

    fn opened(&self) -> std::sync::MutexGuard<'_, Option<Arc<Journal>>> {
        self.journal.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The journal of this root, where it is open. Another process may have set it aside meanwhile,
    /// or the root may be another.
    fn current(&self, root: &Root) -> Result<Option<Arc<Journal>>, Fault> {
        if self.closed.load(Ordering::Acquire) {
            return Err(Fault::unavailable("it is closed"));
        }
        let journal = self.opened().clone();
        match journal {
            Some(journal) if !self.suspect.load(Ordering::Acquire) && journal.is_of(root)? => {
                Ok(Some(journal))
            }
            _ => Ok(None),
        }
    }

    fn journal(
        &self,
        runtime: &Handle,
        root: &Root,
        lock: Option<&Lock>,
    ) -> Result<Arc<Journal>, Fault> {
        if let Some(journal) = self.current(root)? {
            return Ok(journal);
        }
        let own;
        let lock = match lock {
            Some(lock) => lock,
            None => {
                own = root.lock(self.options.busy_timeout)?;
                &own
            }
        };
        // Another may have been faster.
        if let Some(journal) = self.current(root)? {
            return Ok(journal);
        }
        let journal = Arc::new(runtime.block_on(Journal::open(root, lock, self.opening()))?);
        self.keep(&journal);
        Ok(journal)
    }

    fn journal_to_read(
        &self,
        runtime: &Handle,
        root: &Root,
    ) -> Result<Option<Arc<Journal>>, Fault> {
        if let Some(journal) = self.current(root)? {
            return Ok(Some(journal));
        }
        let journal = runtime.block_on(Journal::open_to_read(root, self.opening()))?;
        Ok(journal.map(|journal| {
            let journal = Arc::new(journal);
            self.keep(&journal);
            journal
        }))
    }

    fn keep(&self, journal: &Arc<Journal>) {
        *self.opened() = Some(Arc::clone(journal));
        self.suspect.store(false, Ordering::Release);
    }

    fn opening(&self) -> Opening<'_> {
        Opening {
            path: &self.path,
            busy_timeout: self.options.busy_timeout,
            folds_case: self.options.folds_case,
            suspect: self.suspect.load(Ordering::Acquire),
            warnings: &self.warnings,
        }
    }
}

/// Work on the directory, on a thread that may wait for the disk.
pub(super) struct Work<'i> {
    inner: &'i Inner,
    runtime: &'i Handle,
    root: Root,
    /// `None` where nothing may be changed and there is none that can be read.
    journal: Option<Arc<Journal>>,
    /// Held to the end of the work.
    lock: Option<Lock>,
    /// What was begun and can't be seen to the end now.
    unsettled: Vec<Prepared>,
    /// Whether the file system takes `a` and `A` for one name.
    folds_case: bool,
}

impl<'i> Work<'i> {
    fn begin(inner: &'i Inner, runtime: &'i Handle, alone: bool) -> Result<Self, Fault> {
        let root = inner.root()?;
        if inner.options.read_only {
            let journal = inner.journal_to_read(runtime, &root)?;
            let folds_case = match (inner.options.folds_case, &journal) {
                (Some(folds_case), _) => folds_case,
                (None, Some(journal)) => journal.folds_case,
                (None, None) => may_fold_case(&root.directory)?,
            };
            return Ok(Self {
                inner,
                runtime,
                root,
                journal,
                lock: None,
                unsettled: Vec::new(),
                folds_case,
            });
        }
        let lock = match alone {
            true => Some(root.lock(inner.options.busy_timeout)?),
            false => None,
        };
        let journal = inner.journal(runtime, &root, lock.as_ref())?;
        let mut begun = Self {
            inner,
            runtime,
            root,
            folds_case: journal.folds_case,
            journal: Some(journal),
            lock,
            unsettled: Vec::new(),
        };
        if alone {
            begun.unsettled = recover(&begun)?;
            inner.warnings.of_unsettled(begun.unsettled.len());
        }
        Ok(begun)
    }

    /// Whether nobody else changes the directory meanwhile.
    pub(super) fn is_alone(&self) -> bool {
        self.lock.is_some()
    }

    /// Whether nothing may be changed.
    pub(super) fn is_read_only(&self) -> bool {
        self.inner.options.read_only
    }

    /// The journal, where there is one that can be read.
    pub(super) fn readable_journal(&self) -> Option<&Journal> {
        self.journal.as_deref()
    }

    /// The journal of a directory that may be changed.
    pub(super) fn journal(&self) -> Result<&Journal, Fault> {
        self.readable_journal()
            .ok_or_else(|| Fault::unexpected("there is no journal"))
    }

    /// Waits for an answer of the journal.
    pub(super) fn wait<T>(&self, answer: impl Future<Output = T>) -> T {
        self.runtime.block_on(answer)
    }

    /// Ways from the root.
    pub(super) fn walk(&self) -> Walk<'_> {
        Walk {
            root: &self.root,
            path: &self.inner.path,
            folds_case: self.folds_case,
        }
    }

    /// What was begun and can't be seen to the end now.
    pub(super) fn unsettled(&self) -> &[Prepared] {
        &self.unsettled
    }

    /// What was warned of already.
    pub(super) fn warnings(&self) -> &Warnings {
        &self.inner.warnings
    }

    /// Sees to the end of what dead processes left, where somebody would have to.
    fn sweep(&self) -> Result<(), Fault> {
        let Some(journal) = self.readable_journal().filter(|_| !self.is_read_only()) else {
            return Ok(());
        };
        if !self.is_alone() && !self.wait(journal.list_prepared())?.is_empty() {
            return Err(Fault::InProgress);
        }
        Ok(())
    }
}

impl fmt::Debug for FileStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileStore")
            .field("root", &self.inner.path)
            .field("read_only", &self.inner.options.read_only)
            .finish_non_exhaustive()
    }
}
