//! Our stores, called as the activities call them.

use std::sync::Arc;

use async_trait::async_trait;
use notekeeper_domain::{
    Edit, Fingerprint, MAIN_NOTE, NOTE_CHARS_MAX_DEFAULT, NoteName, Operation, OperationId,
    RenderSettings, SEARCH_FILES_MAX_DEFAULT, SEARCH_RESULT_CHARS_MAX_DEFAULT,
    SEARCH_RESULTS_MAX_DEFAULT, Scope, SearchAnswer, SearchLimits, SearchQuery, TOKENS_MAX_DEFAULT,
    render_snapshot, snapshot_digest,
};
use notekeeper_store::{
    EditRequest, Expected, NotebookBounds, PostgresOptions, PostgresStore, Store, WriteRequest,
};

use crate::{
    dataset,
    drive::{Client, drive},
    note::{self, Counted},
    sample::Sample,
    work::{Cell, Contender, Work},
};

/// First of the scopes that clients write to; the others of the product's peers are elsewhere.
const FIRST_SCOPE: u32 = 800_000;

/// Makes a store for so many clients.
pub(crate) type MakeStore = Box<dyn Fn(u32) -> anyhow::Result<Arc<dyn Store>> + Send>;

/// One of our stores.
pub(crate) struct Product {
    name: &'static str,
    make: MakeStore,
    clients: Vec<Box<dyn Client>>,
    store: Option<Arc<dyn Store>>,
}

/// The name of our PostgreSQL store in results.
pub(crate) const POSTGRES: &str = "notekeeper";

/// The name of our SQLite store.
pub(crate) const SQLITE: &str = "notekeeper on SQLite";

impl Product {
    /// The PostgreSQL store, with as many connections as clients.
    pub(crate) fn postgres(options: PostgresOptions) -> Self {
        let make = move |connections_max| -> anyhow::Result<Arc<dyn Store>> {
            let options = PostgresOptions {
                connections_max,
                ..options.clone()
            };
            Ok(Arc::new(PostgresStore::connect_lazy(&options)?))
        };
        Self::new(POSTGRES, Box::new(make))
    }

    /// Any store under a name for results.
    pub(crate) fn new(name: &'static str, make: MakeStore) -> Self {
        Self {
            name,
            make,
            clients: Vec::new(),
            store: None,
        }
    }
}

#[async_trait]
impl Contender for Product {
    fn name(&self) -> &'static str {
        self.name
    }

    fn takes(&self, _: Work) -> bool {
        true
    }

    async fn prepare(&mut self, cell: Cell) -> anyhow::Result<()> {
        let store = (self.make)(cell.clients)?;
        self.clients.clear();
        for number in 0..cell.clients {
            let client = client(&store, cell.work, number).await?;
            self.clients.push(client);
        }
        self.store = Some(store);
        Ok(())
    }

    async fn run(&mut self, cell: Cell) -> anyhow::Result<Sample> {
        if let (Work::Append, Some(store)) = (cell.work, &self.store) {
            let (scope, name) = (hot_scope()?, NoteName::main());
            store.delete(&scope, &name, &Expected::Any, None).await?;
        }
        drive(&mut self.clients, cell.length).await
    }
}

async fn client(
    store: &Arc<dyn Store>,
    work: Work,
    number: u32,
) -> anyhow::Result<Box<dyn Client>> {
    let store = Arc::clone(store);
    Ok(match work {
        Work::Write => {
            let scope = Scope::parse(&(FIRST_SCOPE + number).to_string())?;
            let note = Counted::default();
            let (name, text) = (NoteName::main(), note.text());
            store
                .write(
                    &scope,
                    &name,
                    &WriteRequest::new(&text, &Expected::Any),
                    None,
                )
                .await?;
            Box::new(Writer {
                mutator: Mutator::new(store, scope),
                note,
            })
        }
        Work::Append => Box::new(Appender(Mutator::new(store, hot_scope()?))),
        Work::Read => Box::new(Reader {
            store,
            turn: number,
        }),
        Work::Snapshot => Box::new(Renderer {
            store,
            turn: number,
        }),
        Work::List => Box::new(Lister {
            store,
            turn: number,
        }),
        Work::SearchRare => Box::new(Searcher::new(store, dataset::RARE_WORD)?),
        Work::SearchCommon => Box::new(Searcher::new(store, dataset::COMMON_WORD)?),
    })
}

fn hot_scope() -> anyhow::Result<Scope> {
    Ok(Scope::parse("810000")?)
}

/// Whoever edits: the fingerprint is made once, because it isn't the store that makes it.
struct Mutator {
    store: Arc<dyn Store>,
    scope: Scope,
    name: NoteName,
    fingerprint: Fingerprint,
}

impl Mutator {
    fn new(store: Arc<dyn Store>, scope: Scope) -> Self {
        let name = NoteName::main();
        let fingerprint = Fingerprint::of_write(&scope, &name, "", None);
        Self {
            store,
            scope,
            name,
            fingerprint,
        }
    }

    async fn edit(&self, edit: Edit) -> anyhow::Result<()> {
        let operation = Operation {
            id: OperationId::parse(&note::operation_id())?,
            fingerprint: self.fingerprint.clone(),
        };
        let request = EditRequest {
            edit: &edit,
            note_chars_max: NOTE_CHARS_MAX_DEFAULT,
            expected: Expected::Any,
            metadata: None,
        };
        self.store
            .edit(&self.scope, &self.name, &request, &operation)
            .await?;
        Ok(())
    }
}

struct Writer {
    mutator: Mutator,
    note: Counted,
}

#[async_trait]
impl Client for Writer {
    async fn operate(&mut self) -> anyhow::Result<()> {
        let (old_text, content) = self.note.count();
        self.mutator.edit(Edit::Replace { old_text, content }).await
    }
}

struct Appender(Mutator);

#[async_trait]
impl Client for Appender {
    async fn operate(&mut self) -> anyhow::Result<()> {
        let content = note::LINE.to_owned();
        self.0.edit(Edit::Append { content }).await
    }
}

struct Reader {
    store: Arc<dyn Store>,
    turn: u32,
}

#[async_trait]
impl Client for Reader {
    async fn operate(&mut self) -> anyhow::Result<()> {
        self.turn += 1;
        let scope = Scope::parse(&dataset::scope(self.turn))?;
        let name = NoteName::parse(MAIN_NOTE)?;
        let read = self
            .store
            .read(&scope, &name, NOTE_CHARS_MAX_DEFAULT)
            .await?;
        anyhow::ensure!(read.is_some_and(|note| note.content.len() == dataset::NOTE_CHARS));
        Ok(())
    }
}

struct Renderer {
    store: Arc<dyn Store>,
    turn: u32,
}

#[async_trait]
impl Client for Renderer {
    async fn operate(&mut self) -> anyhow::Result<()> {
        self.turn += 1;
        let scope = Scope::parse(&dataset::scope(self.turn))?;
        let settings = render_settings();
        let bounds = NotebookBounds {
            main_chars_max: NOTE_CHARS_MAX_DEFAULT,
            names_max: settings.names_max(),
        };
        let view = self.store.notebook(&scope, bounds).await?;
        let notekeeper_domain::Rendered::Block { text, .. } = render_snapshot(&view, &settings)
        else {
            anyhow::bail!("a notebook was rendered as nothing");
        };
        // The activity compares the digest with the one that its caller holds.
        anyhow::ensure!(snapshot_digest(&text).len() == 64);
        Ok(())
    }
}

/// The settings of a memory with all defaults.
pub(crate) fn render_settings() -> RenderSettings {
    RenderSettings {
        tokens_max: TOKENS_MAX_DEFAULT,
        guidance_chars: notekeeper_domain::DEFAULT_GUIDANCE.chars().count(),
        lines_max: notekeeper_domain::LINES_MAX_DEFAULT,
        heading: String::new(),
        reader: notekeeper_domain::READ_MEMORY.to_owned(),
        searcher: notekeeper_domain::SEARCH_MEMORY.to_owned(),
        location: None,
        file_reader: None,
    }
}

struct Lister {
    store: Arc<dyn Store>,
    turn: u32,
}

#[async_trait]
impl Client for Lister {
    async fn operate(&mut self) -> anyhow::Result<()> {
        self.turn += 1;
        let scope = Scope::parse(&dataset::scope(self.turn))?;
        let names = self.store.names(&scope, note::NAMES_MAX).await?;
        anyhow::ensure!(names.names.len() == dataset::NOTES);
        Ok(())
    }
}

struct Searcher {
    store: Arc<dyn Store>,
    query: SearchQuery,
}

impl Searcher {
    fn new(store: Arc<dyn Store>, word: &str) -> anyhow::Result<Self> {
        let query = SearchQuery::parse(word)?;
        Ok(Self { store, query })
    }
}

#[async_trait]
impl Client for Searcher {
    async fn operate(&mut self) -> anyhow::Result<()> {
        let answer = search(self.store.as_ref(), &self.query).await?;
        anyhow::ensure!(answer.scanned == dataset::SEARCHED);
        Ok(())
    }
}

/// One search with the default limits.
pub(crate) async fn search(store: &dyn Store, query: &SearchQuery) -> anyhow::Result<SearchAnswer> {
    let scope = Scope::parse(&dataset::searched_scope())?;
    let limits = SearchLimits {
        results_max: SEARCH_RESULTS_MAX_DEFAULT,
        result_chars_max: SEARCH_RESULT_CHARS_MAX_DEFAULT,
        files_max: SEARCH_FILES_MAX_DEFAULT,
        note_chars_max: NOTE_CHARS_MAX_DEFAULT,
    };
    Ok(store.search(&scope, query, &limits).await?)
}
