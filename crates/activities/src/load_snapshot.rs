//! `load_snapshot`: the memory blocks for the next model request.

use notekeeper_contract::{
    Delivery, LoadSnapshotInput, LoadSnapshotOutput, RenderOptions, SnapshotAnswer,
    SnapshotRequest, SnapshotStats,
};
use notekeeper_domain::{
    MainPart, Notebook as NotebookView, RenderSettings, Rendered, Scope, SnapshotCounts,
    render_snapshot, snapshot_digest,
};
use notekeeper_store::{NotebookBounds, Store};
use tracing::{Instrument as _, Span, field::Empty};

use crate::{
    Failure, Notebook, StoreAt, bounds,
    encoded::check_encoded,
    fault,
    span::{operation_span, record_count, record_stop},
};

impl Notebook {
    /// Renders the block of each memory, in the order of the requests.
    ///
    /// A block whose digest the caller holds is `unchanged`. One that is delivered by reference is
    /// kept in its store before the answer says so; a store that keeps none has it delivered inline. A store that fails for good is the answer
    /// `error` of its memory and leaves the others alone.
    ///
    /// # Errors
    ///
    /// A [`Failure`] if any request is invalid (then no store is asked), if a store can't be
    /// reached, or if the answers together are too large for a result.
    pub async fn load_snapshot(
        &self,
        input: LoadSnapshotInput,
    ) -> Result<LoadSnapshotOutput, Failure> {
        let requests = input.memories.iter().enumerate();
        let memories: Vec<Memory<'_>> = requests
            .map(|(index, request)| self.memory(&format!("memories[{index}]"), request))
            .collect::<Result<_, _>>()?;
        let mut snapshots = Vec::with_capacity(memories.len());
        for memory in &memories {
            snapshots.push(memory.answer().await?);
        }
        let output = LoadSnapshotOutput { snapshots };
        check_encoded(
            &output,
            "the snapshot result",
            "lower `max_tokens`, or set `delivery` to `reference`",
        )?;
        Ok(output)
    }

    /// Checks one request; `at` is its place in the payload.
    fn memory<'a>(&'a self, at: &str, request: &'a SnapshotRequest) -> Result<Memory<'a>, Failure> {
        let render = &request.render;
        let chars_max = bounds::at_least_one(
            &format!("{at}.render.max_memory_size"),
            render.max_memory_size,
        )?;
        let settings = settings(&format!("{at}.render"), render)?;
        Ok(Memory {
            notebook: self,
            store: self
                .stores
                .get(&request.store, request.workspace.as_deref())?,
            scope: request.scope.resolve()?,
            bounds: NotebookBounds {
                main_chars_max: chars_max,
                names_max: settings.names_max(),
            },
            settings,
            request,
        })
    }
}

fn settings(at: &str, render: &RenderOptions) -> Result<RenderSettings, Failure> {
    let texts = [
        ("heading", Some(&render.heading)),
        ("reader", Some(&render.reader)),
        ("searcher", Some(&render.searcher)),
        ("location", render.location.as_ref()),
        ("file_reader", render.file_reader.as_ref()),
    ];
    for (field, text) in texts {
        bounds::without_nul(&format!("{at}.{field}"), text.map_or("", String::as_str))?;
    }
    Ok(RenderSettings {
        tokens_max: bounds::at_least_one(&format!("{at}.max_tokens"), render.max_tokens)?,
        guidance_chars: bounds::any_number(render.guidance_chars),
        lines_max: bounds::any_number(render.max_lines),
        heading: render.heading.clone(),
        reader: render.reader.clone(),
        searcher: render.searcher.clone(),
        location: render.location.clone(),
        file_reader: render.file_reader.clone(),
    })
}

/// One request, checked.
struct Memory<'a> {
    notebook: &'a Notebook,
    store: StoreAt<'a>,
    scope: Scope,
    bounds: NotebookBounds,
    settings: RenderSettings,
    request: &'a SnapshotRequest,
}

impl Memory<'_> {
    async fn answer(&self) -> Result<SnapshotAnswer, Failure> {
        let span = operation_span!(
            "memory.inject",
            self.notebook,
            self.store,
            self.scope,
            memory.main_chars = Empty,
            memory.main_truncated = Empty,
            memory.files = Empty,
            memory.files_truncated = Empty,
            memory.injected_chars = Empty,
            memory.unchanged = Empty,
        );
        let failure = match self.render(&span).instrument(span.clone()).await {
            Ok(answer) => return Ok(answer),
            Err(failure) => failure,
        };
        record_stop(&span, failure.kind.as_str());
        if failure.kind.is_retryable() {
            return Err(failure);
        }
        // The activity succeeds, so nothing else reports this.
        span.in_scope(|| {
            tracing::error!(failure.kind = failure.kind.as_str(), "{}", failure.message);
        });
        Ok(SnapshotAnswer::Error {
            error_type: failure.kind.as_str().to_owned(),
            message: failure.message,
        })
    }

    async fn render(&self, span: &Span) -> Result<SnapshotAnswer, Failure> {
        let store = self.store.open().await?;
        let view = store.notebook(&self.scope, self.bounds).await?;
        fault::reach(fault::SNAPSHOT_AFTER_READ)?;
        let rendered = render_snapshot(&view, &self.settings);
        record_view(span, &view, &rendered);
        match rendered {
            Rendered::Block { text, counts } => {
                self.deliver(span, store.as_ref(), text, &counts).await
            }
            Rendered::Empty => Ok(SnapshotAnswer::Empty {
                budget_exhausted: false,
            }),
            Rendered::BudgetExhausted => Ok(SnapshotAnswer::Empty {
                budget_exhausted: true,
            }),
        }
    }

    async fn deliver(
        &self,
        span: &Span,
        store: &dyn Store,
        text: String,
        counts: &SnapshotCounts,
    ) -> Result<SnapshotAnswer, Failure> {
        let digest = snapshot_digest(&text);
        let unchanged = self.request.held_digest.as_ref() == Some(&digest);
        span.record("memory.unchanged", unchanged);
        if unchanged {
            return Ok(SnapshotAnswer::Unchanged { digest });
        }
        let text = match (self.request.delivery, store.snapshots()) {
            (Delivery::Reference, Some(snapshots)) => {
                let kept = snapshots.keep_snapshot(&self.scope, &digest, &text).await;
                kept.map_err(|error| Failure::of_store(&error, "lower `max_tokens`"))?;
                None
            }
            // A store that keeps no texts can't answer for a reference later.
            (Delivery::Inline, _) | (Delivery::Reference, None) => Some(text),
        };
        Ok(SnapshotAnswer::Block {
            digest,
            text,
            stats: stats(counts),
        })
    }
}

fn stats(counts: &SnapshotCounts) -> SnapshotStats {
    SnapshotStats {
        chars: counts.block_chars,
        lines: counts.lines_shown,
        lines_dropped: counts.lines_dropped,
        files: counts.files_listed,
        truncated: counts.line_cut
            || counts.lines_dropped > 0
            || counts.files_listed < counts.files
            || counts.files_truncated
            || counts.main_truncated,
        located: counts.located,
    }
}

fn record_view(span: &Span, view: &NotebookView, rendered: &Rendered) {
    if span.is_disabled() {
        return;
    }
    let main = view.main.as_ref();
    let (outcome, injected_chars) = match rendered {
        Rendered::Block { counts, .. } => ("ok", counts.block_chars),
        Rendered::Empty => ("ok", 0),
        Rendered::BudgetExhausted => ("budget_exhausted", 0),
    };
    span.record("memory.outcome", outcome);
    let main_chars = main.map_or(0, |main| main.content.chars().count());
    record_count(span, "memory.main_chars", main_chars);
    span.record(
        "memory.main_truncated",
        main.is_some_and(|main| main.part != MainPart::Whole),
    );
    record_count(span, "memory.files", view.names.len());
    span.record("memory.files_truncated", view.more_names);
    record_count(span, "memory.injected_chars", injected_chars);
}
