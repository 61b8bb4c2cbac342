//! Writes to all legs.

use super::*;

#[tokio::test]
async fn a_leg_that_takes_long_to_write_keeps_no_other_waiting_than_its_own_place() {
    let last = Arc::new(FakeSource::new("last"));
    let mut legs: Vec<Arc<dyn Source>> = vec![Arc::new(After(last.clone()))];
    legs.extend((0..5).map(|n| Arc::new(FakeSource::new(&format!("leg{n}"))) as _));
    legs.push(last);
    let options = CompositeOptions {
        concurrency: 2,
        ..CompositeOptions::default()
    };
    let all = CompositeSource::new("all", legs, options).unwrap();
    let caller = Caller::of("acme");
    let items = [Item::new("x", "")];
    let written = timeout(DEADLINE, caller.write(&all, &items));
    let written = written.await.expect("the last gets its turn").unwrap();
    assert_eq!(written.accepted[0], "after");
    assert_eq!(written.accepted.last().unwrap(), "last");
}

#[tokio::test]
async fn a_dropped_write_leaves_no_leg_behind_and_can_be_repeated() {
    let under_way = Arc::new(UnderWay::default());
    let kept = Arc::new(FakeSource::new("kept"));
    let stuck = Arc::new(
        FakeSource::new("stuck")
            .when_written(Does::Hangs)
            .counting(&under_way),
    );
    let both = CompositeSource::new(
        "both",
        vec![kept.clone(), stuck.clone()],
        CompositeOptions::default(),
    )
    .unwrap();
    let caller = Caller::of("acme");
    for _ in 0..2 {
        let items = [Item::new("x", "")];
        let mut write = Box::pin(caller.write(&both, &items));
        timeout(DEADLINE, async {
            while under_way.now() == 0 {
                assert!(futures::poll!(&mut write).is_pending());
                tokio::task::yield_now().await;
            }
        })
        .await
        .expect("it is under way");
        drop(write);
        assert_eq!(under_way.now(), 0);
    }
    let writes = kept.writes.lock().unwrap();
    assert_eq!(writes[0], writes[1], "the repetition is the same operation");
}

#[tokio::test]
async fn a_write_reaches_every_leg_under_an_identity_of_its_own() {
    let (one, other) = (
        Arc::new(FakeSource::new("one")),
        Arc::new(FakeSource::new("other")),
    );
    let both = CompositeSource::new(
        "both",
        vec![one.clone(), other.clone()],
        CompositeOptions::default(),
    )
    .unwrap();
    let caller = Caller::of("acme");
    let items = [Item::new("x", "")];
    for _ in 0..2 {
        let written = caller.write(&both, &items).await.unwrap();
        assert_eq!(written.accepted, ["one", "other"]);
    }
    let of = |leg: &FakeSource| leg.writes.lock().unwrap().clone();
    let (one, other) = (of(&one), of(&other));
    assert_eq!(one[0], one[1]);
    assert_eq!(one[0].operation, operation("op").leg("one"));
    assert_ne!(one[0].operation.id(), other[0].operation.id());
    assert_eq!(
        one[0].operation.item_id(0, "x"),
        other[0].operation.item_id(0, "x")
    );
    assert_eq!(
        (&*one[0].scope, &one[0].items[..]),
        ("acme/main", &items[..])
    );
}

#[tokio::test]
async fn a_write_that_fails_inside_is_told_leaf_by_leaf() {
    let broken = |name: &str| FakeSource::new(name).when_written(Does::Fails(unavailable));
    let inner = all(vec![FakeSource::new("a"), broken("b")]);
    let outer: Vec<Arc<dyn Source>> = vec![
        Arc::new(FakeSource::new("c")),
        Arc::new(inner),
        Arc::new(FakeSource::new("d").that_accepts_no_writes()),
    ];
    let outer = CompositeSource::new("outer", outer, CompositeOptions::default()).unwrap();
    let error = Caller::of("acme")
        .write(&outer, &[Item::new("x", "")])
        .await
        .unwrap_err();
    assert!(error.is_passing());
    let SourceError::PartialWrite(written) = error else {
        panic!("{error}")
    };
    assert_eq!(written.accepted, ["c", "a"]);
    assert_eq!(written.refused, ["d"]);
    assert_eq!(written.failed.len(), 1);
    assert_eq!(written.failed[0].source, "b");
}

#[tokio::test]
async fn where_every_leg_fails_the_error_says_that_nobody_accepted() {
    let broken = |name: &str| FakeSource::new(name).when_written(Does::Fails(unsupported));
    let error = Caller::of("acme")
        .write(&all(vec![broken("a"), broken("b")]), &[Item::new("x", "")])
        .await
        .unwrap_err();
    assert!(!error.is_passing());
    assert_eq!(
        error.to_string(),
        "no source kept the write; refused (read-only): none; failed: a: it can't; b: it can't"
    );
    let SourceError::PartialWrite(written) = error else {
        panic!("{error}")
    };
    assert!(written.accepted.is_empty());
    assert_eq!(written.failed.len(), 2);
}

#[tokio::test]
async fn what_one_leg_refuses_the_tenant_no_leg_keeps() {
    let (open, guarded) = (
        Arc::new(FakeSource::new("open")),
        Arc::new(FakeSource::new("guarded")),
    );
    let guard: Arc<dyn Source> = Arc::new(ScopedSource::new(guarded.clone()));
    let inner: Arc<dyn Source> =
        Arc::new(SequentialSource::new("inner", vec![guard], Duration::from_secs(1)).unwrap());
    let both = CompositeSource::new(
        "both",
        vec![open.clone(), inner],
        CompositeOptions::default(),
    )
    .unwrap();
    let items = [Item::new("x", "")];
    let error = Caller::of("").write(&both, &items).await.unwrap_err();
    assert!(matches!(error, SourceError::ScopeRefused { .. }));
    assert_eq!((open.given(), guarded.given()), (0, 0));
    Caller::of("acme").write(&both, &items).await.unwrap();
    assert_eq!((open.given(), guarded.given()), (1, 1));
}

#[tokio::test]
async fn a_row_of_another_tenant_ends_the_whole_write_and_who_has_kept_it_is_told() {
    let leaky = FakeSource::new("leaky").when_written(Does::Fails(foreign));
    let down = FakeSource::new("down").when_written(Does::Fails(unavailable));
    let after = Arc::new(FakeSource::new("after"));
    let legs: Vec<Arc<dyn Source>> = vec![
        Arc::new(FakeSource::new("before")),
        Arc::new(down),
        Arc::new(leaky),
        after.clone(),
    ];
    let one_at_a_time = CompositeOptions {
        concurrency: 1,
        ..CompositeOptions::default()
    };
    let inner = CompositeSource::new("inner", legs, one_at_a_time.clone()).unwrap();
    let late = Arc::new(FakeSource::new("late"));
    let outer: Vec<Arc<dyn Source>> = vec![Arc::new(inner), late.clone()];
    let outer = CompositeSource::new("outer", outer, one_at_a_time).unwrap();
    let error = Caller::of("acme")
        .write(&outer, &[Item::new("x", "")])
        .await
        .unwrap_err();
    // A repetition wouldn't help, though one of them may recover.
    assert!(error.is_of_scope() && !error.is_passing());
    assert!(matches!(
        error.leading(),
        Some(SourceError::ForeignScope { .. })
    ));
    let SourceError::PartialWrite(written) = error else {
        panic!("{error}")
    };
    assert_eq!(written.accepted, ["before"]);
    let failed: Vec<&str> = written.failed.iter().map(|it| &*it.source).collect();
    assert_eq!(failed, ["down", "leaky", "after", "late"]);
    assert_eq!((after.given(), late.given()), (0, 0));
}

/// Accepts nothing, and says this of it.
#[derive(Debug)]
struct Closed(fn() -> Result<Written, SourceError>);

#[async_trait]
impl Source for Closed {
    fn name(&self) -> &str {
        "closed"
    }

    async fn query(&self, _: &SourceQuery, _: &SourceCall<'_>) -> Result<Answer, SourceError> {
        Ok(Answer::default())
    }

    async fn write(
        &self,
        _: &[Item],
        _: &WriteOperation,
        _: &SourceCall<'_>,
    ) -> Result<Written, SourceError> {
        self.0()
    }

    fn accepts_writes(&self) -> bool {
        false
    }
}

#[tokio::test]
async fn a_leg_that_accepts_no_writes_has_refused_whatever_it_says() {
    let caller = Caller::of("acme");
    let items = [Item::new("x", "")];
    let partial = || {
        let written = Written::accepted_by("closed");
        Err(SourceError::PartialWrite(Box::new(written)))
    };
    let closed = |says| -> Arc<dyn Source> { Arc::new(Closed(says)) };
    for says in [
        || Ok(Written::accepted_by("closed")),
        || Ok(Written::refused_by("closed")),
        || Ok(Written::default()),
        partial,
    ] as [fn() -> _; 4]
    {
        let legs = vec![closed(says), Arc::new(FakeSource::new("kb"))];
        let both = CompositeSource::new("both", legs, CompositeOptions::default()).unwrap();
        let written = caller.write(&both, &items).await.unwrap();
        assert_eq!(written.accepted, ["kb"]);
        assert_eq!(written.refused, ["closed"]);
        let chain =
            SequentialSource::new("chain", vec![closed(says)], Duration::from_secs(1)).unwrap();
        let written = match caller.write(&chain, &items).await {
            Err(SourceError::PartialWrite(written)) => *written,
            written => written.unwrap(),
        };
        assert_eq!(written, Written::refused_by("closed"));
    }
}

#[tokio::test]
async fn an_empty_write_touches_no_leg() {
    let nobody = Caller::of("");
    let guarded: Arc<dyn Source> = Arc::new(ScopedSource::new(Arc::new(FakeSource::new("kb"))));
    let one = CompositeSource::new("one", vec![guarded], CompositeOptions::default()).unwrap();
    assert_eq!(nobody.write(&one, &[]).await.unwrap(), Written::default());
    assert!(nobody.told().is_empty());
}

#[tokio::test]
async fn a_write_that_reached_some_can_be_repeated_until_it_reached_all_and_doubles_nothing() {
    let stores = Arc::new(Stores::default());
    let vectors: Arc<dyn Source> = Arc::new(VectorSource::in_memory("vectors"));
    let facts: Arc<dyn Source> = Arc::new(FactsSource::new("facts", stores.clone(), "default"));
    let files: Arc<dyn Source> = Arc::new(FileSource::new("files", stores, "default"));
    let recovering = Arc::new(Recovering(FakeSource::new("recovering"), 2.into()));
    let legs = vec![vectors.clone(), facts.clone(), recovering, files.clone()];
    let all = CompositeSource::new("all", legs, CompositeOptions::default()).unwrap();
    let caller = Caller::of("acme");
    let of = |text: &str, id: serde_json::Value| {
        let path = metadata(serde_json::json!({"path": "policy.md"}));
        Item::new(text, "").with_metadata(match id {
            serde_json::Value::Null => path,
            id => path.with("id", id),
        })
    };
    let items = [
        of("Refunds take 5 days.", "r1".into()),
        of("Credit never expires.", serde_json::Value::Null),
    ];
    for _ in 0..2 {
        let error = caller.write(&all, &items).await.unwrap_err();
        let SourceError::PartialWrite(written) = error else {
            panic!("{error}")
        };
        assert_eq!(written.accepted, ["vectors", "facts", "files"]);
        assert_eq!(written.failed[0].source, "recovering");
    }
    let written = caller.write(&all, &items).await.unwrap();
    assert_eq!(
        written.accepted,
        ["vectors", "facts", "recovering", "files"]
    );
    for source in [&vectors, &facts] {
        let found = caller.found(source.as_ref(), "refunds credit", 10).await;
        assert_eq!(found.len(), 2, "{found:?}");
    }
    // Both items name one note, so the later stands, written once.
    let note = caller.query(files.as_ref(), "credit", 10).await.unwrap();
    assert_eq!(note.items.len(), 1);

    // The same operation with other items is a conflict, and changes nothing.
    let other = [of("Refunds take 50 days.", "r1".into())];
    let SourceError::PartialWrite(written) = caller.write(&all, &other).await.unwrap_err() else {
        panic!("it is a conflict")
    };
    let conflicts = written.failed.iter().filter(|leg| {
        let error = leg.error.as_ref();
        matches!(
            error,
            SourceError::Mutation(MutationError::OperationConflict)
        )
    });
    assert_eq!(conflicts.count(), 3, "{:?}", written.failed);
    let found = caller.found(vectors.as_ref(), "refunds", 1).await;
    assert_eq!(found, ["Refunds take 5 days."]);
}

/// Fails so many writes before it keeps one.
#[derive(Debug)]
struct Recovering(FakeSource, std::sync::atomic::AtomicU32);

#[async_trait]
impl Source for Recovering {
    fn name(&self) -> &str {
        self.0.name()
    }

    async fn query(
        &self,
        query: &SourceQuery,
        call: &SourceCall<'_>,
    ) -> Result<Answer, SourceError> {
        self.0.query(query, call).await
    }

    async fn write(
        &self,
        items: &[Item],
        operation: &WriteOperation,
        call: &SourceCall<'_>,
    ) -> Result<Written, SourceError> {
        use std::sync::atomic::Ordering::SeqCst;
        match self
            .1
            .fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1))
        {
            Ok(_) => Err(unavailable()),
            Err(_) => self.0.write(items, operation, call).await,
        }
    }
}

#[tokio::test]
async fn one_operation_for_a_source_and_for_what_stands_around_it_loses_nothing() {
    let caller = Caller::of("acme");
    let near: Arc<dyn Source> = Arc::new(VectorSource::in_memory("near"));
    let both =
        CompositeSource::new("both", vec![near.clone()], CompositeOptions::default()).unwrap();
    caller
        .write(&*near, &[Item::new("first words", "")])
        .await
        .unwrap();
    caller
        .write(&both, &[Item::new("other words", "")])
        .await
        .unwrap();
    let mut found = caller.found(&both, "words", 5).await;
    found.sort();
    assert_eq!(found, ["first words", "other words"]);
}

#[tokio::test]
async fn an_item_that_one_leg_cannot_keep_is_kept_by_none() {
    let caller = Caller::of("acme");
    let stores = Arc::new(Stores::default());
    let given = |content: &str, known: serde_json::Value| {
        Item::new(content, "").with_metadata(metadata(known))
    };
    let part = |id: &str| given("x", serde_json::json!({"id": id, "truncated": true}));
    let digest = "0f".repeat(32);
    let facts =
        || -> Arc<dyn Source> { Arc::new(FactsSource::new("facts", stores.clone(), "default")) };
    let files =
        || -> Arc<dyn Source> { Arc::new(FileSource::new("files", stores.clone(), "default")) };
    let near = || -> Arc<dyn Source> { Arc::new(VectorSource::in_memory("near")) };
    let pad = || -> Arc<dyn Source> { Arc::new(ScratchpadSource::new("pad")) };
    // At least one refusal of each kind, and those that it shares with no other.
    let cases: Vec<(Arc<dyn Source>, Item)> = vec![
        (near(), Item::new(" ", "")),
        (near(), part("7")),
        (facts(), part("fact:default/a")),
        (facts(), given(&"x".repeat(20_000), serde_json::json!({}))),
        (
            facts(),
            given(
                "x",
                serde_json::json!({"id": format!("fact:sha256:{digest}")}),
            ),
        ),
        (files(), given("x", serde_json::json!({}))),
        (
            files(),
            given("x", serde_json::json!({"path": "a.md", "truncated": true})),
        ),
        (
            files(),
            given("x", serde_json::json!({"path": "a.md", "version": 1})),
        ),
        (pad(), part("scratchpad:a")),
        (
            pad(),
            given(
                "x",
                serde_json::json!({"id": format!("scratchpad:sha256:{digest}")}),
            ),
        ),
    ];
    for (leg, bad) in cases {
        let name = leg.name().to_owned();
        let open = Arc::new(FakeSource::new("open"));
        let legs: Vec<Arc<dyn Source>> = vec![open.clone(), leg];
        let inner: Arc<dyn Source> =
            Arc::new(CompositeSource::new("inner", legs, CompositeOptions::default()).unwrap());
        let outer =
            CompositeSource::new("outer", vec![inner], CompositeOptions::default()).unwrap();
        let good = given("x", serde_json::json!({"path": "good.md"}));
        let refused = caller
            .write(&outer, &[good.clone(), bad])
            .await
            .unwrap_err();
        assert!(
            matches!(refused, SourceError::Invalid(_) | SourceError::TooLarge(_)),
            "{name}: {refused}"
        );
        assert!(
            refused.to_string().contains("items[1]"),
            "{name}: {refused}"
        );
        assert_eq!(open.given(), 0, "{name}");
        caller.write(&outer, &[good]).await.unwrap();
        assert_eq!(open.given(), 1, "{name}");
    }
}
