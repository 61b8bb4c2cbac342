use std::{
    collections::BTreeMap,
    error::Error,
    sync::atomic::{AtomicUsize, Ordering},
    time::Instant,
};

use async_trait::async_trait;
use notekeeper_domain::Item;
use notekeeper_models::{ChatModel, ChatRequest, ChatResponse, HashingEmbedder, ModelError};
use notekeeper_store::{InMemoryStore, Store};
use serde_json::{Map, Value, json};

use super::*;
use crate::{
    MakeSearchTool, OpenStores, SearchTool, SourceCall, SourceError, StoreKeeps, ToolCallError,
    ToolSpec,
    fake::{Caller, contents},
};

#[derive(Debug, Default)]
struct Stores(Arc<InMemoryStore>);

#[async_trait]
impl OpenStores for Stores {
    async fn open(
        &self,
        _store: &str,
        _call: &SourceCall<'_>,
    ) -> Result<Arc<dyn Store>, SourceError> {
        Ok(self.0.clone())
    }
}

/// Answers with what it was called with, or with how often, or never, by the name of its activity.
#[derive(Debug)]
struct Echo(ToolSpec, AtomicUsize);

#[async_trait]
impl SearchTool for Echo {
    async fn call(
        &self,
        arguments: Map<String, Value>,
        _call: &SourceCall<'_>,
    ) -> Result<Value, ToolCallError> {
        let ToolSpec::Activity { activity, .. } = &self.0 else {
            return Err(ToolCallError::Refused("not this one".to_owned()));
        };
        match activity.as_str() {
            "hang" => std::future::pending().await,
            "count" => return Ok(json!([self.1.fetch_add(1, Ordering::SeqCst).to_string()])),
            _ => {}
        }
        Ok(json!([format!("{activity} {}", Value::Object(arguments))]))
    }
}

#[derive(Debug)]
struct MakeEcho;

impl MakeSearchTool for MakeEcho {
    fn make(&self, source: &str, tool: &ToolSpec) -> Result<Arc<dyn SearchTool>, String> {
        match tool {
            ToolSpec::Activity { .. } => Ok(Arc::new(Echo(tool.clone(), AtomicUsize::new(0)))),
            ToolSpec::Http { .. } => Err(format!("the tool of `{source}` has no usable `url`")),
        }
    }
}

#[derive(Debug)]
struct Short;

#[async_trait]
impl ChatModel for Short {
    async fn respond(&self, _request: &ChatRequest) -> Result<ChatResponse, ModelError> {
        Ok(ChatResponse {
            text: "short".to_owned(),
            tool_calls: Vec::new(),
        })
    }
}

/// Lets the scopes of one agent through.
#[derive(Debug)]
struct Agents;

#[async_trait]
impl ScopePolicy for Agents {
    async fn allows(&self, call: &SourceCall<'_>) -> Result<bool, Box<dyn Error + Send + Sync>> {
        Ok(call.scope.agent_name() == "main")
    }

    fn requirement(&self) -> String {
        "it isn't the main agent's".to_owned()
    }
}

fn parts() -> SourceParts {
    let notes_alone = StoreKeeps::default();
    SourceParts {
        models: [("default".to_owned(), Arc::new(Short) as _)].into(),
        tools: Arc::new(MakeEcho),
        policies: [("main_agent".to_owned(), Arc::new(Agents) as _)].into(),
        ..SourceParts::new(
            Arc::new(Stores::default()),
            [
                ("default".to_owned(), StoreKeeps::everything()),
                ("files".to_owned(), notes_alone),
            ]
            .into(),
        )
    }
}

fn built(toml: &str) -> Result<BTreeMap<String, Arc<dyn Source>>, InvalidSource> {
    let file: BTreeMap<String, BTreeMap<String, SourceSpec>> = toml::from_str(toml).unwrap();
    build(file["sources"].clone(), &parts())
}

fn refused(toml: &str) -> String {
    built(toml).expect_err("it can't be made").to_string()
}

const HANDBOOK: &str = "[sources.handbook]\nkind = 'vector'\nindex = 'in_memory'\n";

#[test]
fn sources_have_the_names_of_their_tables_and_decorators_those_of_what_they_decorate() {
    let sources = built(
        "[sources.handbook]
         kind = 'vector'
         index = 'in_memory'
         [sources.kb]
         kind = 'composite'
         sources = ['handbook', 'guarded', { kind = 'facts' }, { kind = 'file', name = 'mine', store = 'files' }]
         [sources.guarded]
         kind = 'scoped'
         inner = { kind = 'cached', inner = { kind = 'compacted', inner = 'registry', max_items = 2 } }
         [sources.registry]
         kind = 'read_only'
         inner = { kind = 'journal' }
         [sources.chain]
         kind = 'sequential'
         sources = ['kb', { kind = 'scratchpad' }]",
    )
    .unwrap();
    let names = |source: &dyn Source| -> Vec<String> {
        let members = source.members().iter();
        members.map(|it| it.name().to_owned()).collect()
    };
    let listed: Vec<(&str, &str, Vec<String>)> = sources
        .iter()
        .map(|(table, source)| (table.as_str(), source.name(), names(source.as_ref())))
        .collect();
    insta::assert_debug_snapshot!(listed);
}

#[test]
fn hybrid_search_is_there_where_the_store_default_keeps_facts_unless_another_source_has_its_name() {
    let names = |toml: &str, keeps: StoreKeeps| -> Vec<String> {
        let file: BTreeMap<String, BTreeMap<String, SourceSpec>> = toml::from_str(toml).unwrap();
        let mut parts = parts();
        parts.store_kinds.insert("default".to_owned(), keeps);
        let sources = build(file["sources"].clone(), &parts).unwrap();
        sources.values().map(|it| format!("{it:?}")).collect()
    };
    let ready_made = names("sources = {}", StoreKeeps::everything());
    assert_eq!(ready_made.len(), 1);
    assert!(ready_made[0].starts_with("HybridSource"), "{ready_made:?}");
    assert_eq!(names("sources = {}", StoreKeeps::default()), [""; 0]);
    let own = "[sources.hybrid]\nkind = 'notes'\nstore = 'files'\n";
    let own = names(own, StoreKeeps::everything());
    assert!(
        own.len() == 1 && own[0].starts_with("NotesSource"),
        "{own:?}"
    );
}

#[tokio::test]
async fn a_source_that_several_name_is_one() {
    let sources = built(&format!(
        "{HANDBOOK}
         [sources.one]
         kind = 'composite'
         sources = ['handbook']
         [sources.other]
         kind = 'cached'
         inner = 'handbook'"
    ))
    .unwrap();
    let caller = Caller::of("acme");
    let written = caller
        .write(
            sources["one"].as_ref(),
            &[Item::new("Refunds take 5 days.", "")],
        )
        .await
        .unwrap();
    assert_eq!(written.accepted, ["handbook"]);
    for name in ["handbook", "one", "other"] {
        let found = caller.found(sources[name].as_ref(), "refunds", 5).await;
        assert_eq!(found, ["Refunds take 5 days."], "{name}");
    }
}

#[tokio::test]
async fn settings_reach_what_they_are_for() {
    let sources = built(&format!(
        "{HANDBOOK}
         [sources.docs]
         kind = 'tool'
         activity = 'search_docs'
         task_queue = 'docs'
         query_arg = 'q'
         [sources.short]
         kind = 'compacted'
         inner = 'docs'
         model = 'default'
         chars_max = 20
         [sources.guarded]
         kind = 'scoped'
         inner = 'handbook'
         require = {{ policy = 'main_agent' }}
         [sources.acme]
         kind = 'scoped'
         inner = 'handbook'
         require = {{ prefix = 'acme' }}
         [sources.eu]
         kind = 'scoped'
         inner = 'handbook'
         require = {{ exact = 'acme/eu' }}
         [sources.fused]
         kind = 'composite'
         sources = ['docs']
         rerank = 'rrf'"
    ))
    .unwrap();
    let caller = Caller::of("acme");
    let answer = caller
        .query(sources["docs"].as_ref(), "freeze", 3)
        .await
        .unwrap();
    assert_eq!(
        contents(&answer.items),
        [r#"search_docs {"limit":3,"q":"freeze"}"#]
    );
    let answer = caller
        .query(sources["short"].as_ref(), "freeze", 3)
        .await
        .unwrap();
    assert_eq!(contents(&answer.items), ["short"]);
    let answer = caller
        .query(sources["fused"].as_ref(), "freeze", 3)
        .await
        .unwrap();
    assert_eq!(answer.items[0].score(), Some(1.0 / 61.0));
    assert_eq!(crate::fake::sources(&answer.items), ["docs"]);

    let refused = |name: &'static str, namespace: &'static str| {
        let source = sources[name].clone();
        async move {
            let answer = Caller::of(namespace).query(source.as_ref(), "x", 1).await;
            matches!(answer, Err(SourceError::ScopeRefused { .. }))
        }
    };
    assert!(!refused("guarded", "acme").await);
    let other = Caller::of("acme").named("other");
    let other = other.query(sources["guarded"].as_ref(), "x", 1).await;
    assert!(matches!(other, Err(SourceError::ScopeRefused { .. })));
    assert!(!refused("acme", "acme/us").await);
    assert!(refused("acme", "acme2").await);
    assert!(!refused("eu", "acme/eu").await);
    assert!(refused("eu", "acme").await);
}

fn activity(name: &str, activity: &str) -> String {
    format!("{{ kind = 'tool', name = '{name}', activity = '{activity}', task_queue = 'q' }}")
}

#[tokio::test]
async fn settings_of_compositions_reach_what_they_are_for() {
    let [one, other] = ["one", "other"].map(|name| activity(name, "search"));
    let [hung, hung_too] = ["hung", "hung_too"].map(|name| activity(name, "hang"));
    let sources = built(&format!(
        "[sources.merged]
         kind = 'composite'
         sources = [{one}, {other}]
         [sources.copies]
         kind = 'composite'
         sources = [{one}, {other}]
         dedupe = 'none'
         [sources.impatient]
         kind = 'composite'
         sources = [{hung}, {one}]
         leg_timeout_ms = 10
         [sources.chain]
         kind = 'sequential'
         sources = [{hung}, {one}]
         leg_timeout_ms = 10
         [sources.one_at_a_time]
         kind = 'composite'
         sources = [{hung}, {hung_too}, {one}]
         leg_timeout_ms = 300
         concurrency = 1"
    ))
    .unwrap();
    let caller = Caller::of("acme");
    let found = async |name: &str| caller.query(sources[name].as_ref(), "x", 5).await.unwrap();
    assert_eq!(found("merged").await.items.len(), 1);
    assert_eq!(found("copies").await.items.len(), 2);
    for name in ["impatient", "chain"] {
        let answer = found(name).await;
        assert_eq!(answer.timed_out, ["hung"], "{name}");
        assert_eq!(answer.items.len(), 1, "{name}");
    }
    // Two that hang are waited for one after the other.
    let asked = Instant::now();
    assert_eq!(found("one_at_a_time").await.timed_out, ["hung", "hung_too"]);
    assert!(asked.elapsed() >= 2 * Duration::from_millis(300));
}

#[tokio::test]
async fn settings_of_decorators_reach_what_they_are_for() {
    let count = activity("count", "count");
    let sources = built(&format!(
        "[sources.fleeting]
         kind = 'cached'
         inner = {count}
         ttl_seconds = 1
         [sources.lasting]
         kind = 'cached'
         inner = {count}
         entries_max = 1
         [sources.few]
         kind = 'compacted'
         inner = {{ kind = 'scratchpad' }}
         max_items = 2
         chars_max = 16
         [sources.strict]
         kind = 'read_only'
         inner = {{ kind = 'scratchpad' }}
         [sources.lenient]
         kind = 'read_only'
         inner = {{ kind = 'scratchpad' }}
         on_write = 'ignore'"
    ))
    .unwrap();
    let mut caller = Caller::of("acme");
    for key in ["a", "b", "c"] {
        caller = caller.with_scratchpad(key, json!("one two three four five"));
    }
    let found = async |name: &str, text: &str| {
        let source = sources[name].as_ref();
        caller.found(source, text, 5).await
    };
    // The first is forgotten for the second, where one answer is kept.
    assert_eq!(found("lasting", "x").await, ["0"]);
    assert_eq!(found("lasting", "x").await, ["0"]);
    assert_eq!(found("lasting", "y").await, ["1"]);
    assert_eq!(found("lasting", "x").await, ["2"]);
    assert_eq!(found("fleeting", "x").await, ["0"]);
    let deadline = Instant::now() + Duration::from_secs(50);
    while found("fleeting", "x").await == ["0"] {
        // Less than the minute that an answer lasts where nothing is said.
        assert!(Instant::now() < deadline, "a second is over");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let few = found("few", "one").await;
    assert_eq!(few.len(), 2);
    assert!(few.iter().all(|it| it.chars().count() <= 16), "{few:?}");
    let items = [Item::new("x", "")];
    let refused = caller.write(sources["strict"].as_ref(), &items).await;
    assert!(matches!(refused, Err(SourceError::WriteRefused { .. })));
    let ignored = caller.write(sources["lenient"].as_ref(), &items).await;
    assert_eq!(ignored.unwrap().refused, ["scratchpad"]);
}

#[test]
fn trees_that_are_too_deep_are_refused_however_they_are_written() {
    let nested = |levels: usize| {
        let inner = (1..levels).fold("{ kind = 'scratchpad' }".to_owned(), |inner, _| {
            format!("{{ kind = 'scoped', inner = {inner} }}")
        });
        format!("[sources.it]\nkind = 'sequential'\nsources = [{inner}]")
    };
    // Each names the one before, or the one after: so that some are made first, or under way.
    let chain = |levels: usize, inner: fn(usize) -> usize| {
        let mut file = String::new();
        for n in 10..10 + levels {
            file += &match (10..10 + levels).contains(&inner(n)) {
                true => format!("[sources.s{n}]\nkind = 'cached'\ninner = 's{}'\n", inner(n)),
                false => format!("[sources.s{n}]\nkind = 'scratchpad'\n"),
            };
        }
        file
    };
    for levels in [SOURCE_LEVELS_MAX, SOURCE_LEVELS_MAX + 1] {
        let fits = levels == SOURCE_LEVELS_MAX;
        assert_eq!(built(&nested(levels - 1)).is_ok(), fits);
        assert_eq!(built(&chain(levels, |n| n + 1)).is_ok(), fits);
        assert_eq!(built(&chain(levels, |n| n - 1)).is_ok(), fits);
    }
    assert!(refused(&nested(SOURCE_LEVELS_MAX)).contains("more than 16 levels"));
    assert!(refused(&chain(80, |n| n - 1)).contains("more than 16 levels"));
    assert!(refused(&chain(80, |n| n + 1)).contains("more than 16 levels"));
}

#[test]
fn what_cannot_be_made_is_told_with_its_path() {
    let many = (0..=crate::LEGS_MAX)
        .map(|n| format!("{{ kind = 'scratchpad', name = 's{n}' }}"))
        .collect::<Vec<_>>()
        .join(", ");
    let said: Vec<String> = [
        // Names.
        "[sources.'a b']\nkind = 'scratchpad'",
        "[sources.it]\nkind = 'scratchpad'\nname = 'it'",
        "[sources.it]\nkind = 'composite'\nsources = [{ kind = 'scratchpad', name = '' }]",
        // What isn't there.
        "[sources.it]\nkind = 'cached'\ninner = 'handbok'\n[sources.handbook]\nkind = 'scratchpad'",
        "[sources.kb]\nkind = 'composite'\nsources = ['h', { kind = 'scoped', inner = { kind = 'cached', inner = 'gone' } }]\n[sources.h]\nkind = 'scratchpad'",
        "[sources.it]\nkind = 'file'\nstore = 'defualt'",
        "[sources.it]\nkind = 'vector'",
        "[sources.it]\nkind = 'scoped'\ninner = { kind = 'scratchpad' }\nrequire = { policy = 'mine' }",
        "[sources.it]\nkind = 'compacted'\ninner = { kind = 'scratchpad' }\nmodel = 'clever'",
        // What a store doesn't keep.
        "[sources.it]\nkind = 'facts'\nstore = 'files'",
        "[sources.it]\nkind = 'transcript'\nstore = 'files'",
        "[sources.it]\nkind = 'journal'\nstore = 'files'",
        "[sources.it]\nkind = 'vector'\nstore = 'files'",
        // Circles.
        "[sources.it]\nkind = 'cached'\ninner = 'it'",
        "[sources.a]\nkind = 'cached'\ninner = 'b'\n[sources.b]\nkind = 'sequential'\nsources = [{ kind = 'scratchpad' }, 'c']\n[sources.c]\nkind = 'scoped'\ninner = 'a'",
        // Legs.
        "[sources.it]\nkind = 'composite'\nsources = []",
        "[sources.it]\nkind = 'sequential'\nsources = []",
        "[sources.it]\nkind = 'composite'\nsources = [{ kind = 'scratchpad' }, { kind = 'scratchpad' }]",
        "[sources.it]\nkind = 'sequential'\nsources = ['s', { kind = 'read_only', inner = 's' }]\n[sources.s]\nkind = 'scratchpad'",
        &format!("[sources.it]\nkind = 'composite'\nsources = [{many}]"),
        // Numbers.
        "[sources.it]\nkind = 'composite'\nsources = [{ kind = 'scratchpad' }]\nleg_timeout_ms = 0",
        "[sources.it]\nkind = 'sequential'\nsources = [{ kind = 'scratchpad' }]\nleg_timeout_ms = 60001",
        "[sources.it]\nkind = 'composite'\nsources = [{ kind = 'scratchpad' }]\nconcurrency = 0",
        "[sources.it]\nkind = 'composite'\nsources = [{ kind = 'cached', inner = { kind = 'scratchpad' }, ttl_seconds = 0 }]",
        "[sources.it]\nkind = 'cached'\ninner = { kind = 'scratchpad' }\nttl_seconds = 86401",
        "[sources.it]\nkind = 'cached'\ninner = { kind = 'scratchpad' }\nentries_max = 0",
        "[sources.it]\nkind = 'compacted'\ninner = { kind = 'scratchpad' }\nchars_max = 15",
        "[sources.it]\nkind = 'compacted'\ninner = { kind = 'scratchpad' }\nmax_items = 0",
        "[sources.it]\nkind = 'compacted'\ninner = { kind = 'scratchpad' }\nmax_items = 101",
        // Words.
        "[sources.it]\nkind = 'scoped'\ninner = { kind = 'scratchpad' }\nrequire = { prefix = '' }",
        "[sources.it]\nkind = 'scoped'\ninner = { kind = 'scratchpad' }\nrequire = { exact = 'a//b' }",
        "[sources.it]\nkind = 'transcript'\nconversation = ''",
        // Tools.
        "[sources.it]\nkind = 'tool'\nurl = 'x'",
        "[sources.it]\nkind = 'tool'\nactivity = 'x'\ntask_queue = 'y'\nquery_arg = 'limit'",
        "[sources.it]\nkind = 'tool'\nactivity = 'x'\ntask_queue = 'y'\nquery_arg = ''",
        "[sources.it]\nkind = 'tool'\nactivity = 'x'\ntask_queue = 'y'\ntimeout_seconds = 0",
    ]
    .into_iter()
    .map(refused)
    .collect();
    insta::assert_snapshot!(said.join("\n"));
}

#[test]
fn a_program_without_search_tools_says_so() {
    let bare = SourceParts::new(Arc::new(Stores::default()), BTreeMap::new());
    let spec: SourceSpec =
        toml::from_str("kind = 'tool'\nactivity = 'x'\ntask_queue = 'y'").unwrap();
    let error = build([("docs".to_owned(), spec)].into(), &bare).unwrap_err();
    assert_eq!(error.path, "sources.docs");
}

#[test]
fn a_tree_that_asks_too_many_is_refused_also_where_it_names_the_same_again_and_again() {
    let list = |of: &dyn Fn(usize) -> String, count: usize| {
        let members: Vec<String> = (0..count).map(of).collect();
        format!("kind = 'composite'\nsources = [{}]\n", members.join(", "))
    };
    let pad = |n: usize| format!("{{ kind = 'scratchpad', name = 'pad{n}' }}");
    let again =
        |n: usize| format!("{{ kind = 'sequential', name = 'again{n}', sources = ['pads'] }}");
    let asking = |times: usize| {
        let (pads, all) = (list(&pad, 16), list(&again, times));
        format!("[sources.pads]\n{pads}[sources.all]\n{all}")
    };
    assert!(built(&asking(16)).is_ok(), "16 × 16 are as many as may be");
    let said = refused(&asking(17));
    assert!(said.contains("asks more than 256 sources"), "{said}");
    assert!(said.contains("sources.all"), "{said}");
}

#[test]
fn a_vector_source_in_place_says_where_its_texts_are() {
    let in_place = |settings: &str| {
        format!(
            "[sources.it]\nkind = 'composite'\nsources = [{{ kind = 'cached', inner = {{ kind = 'vector'{settings} }} }}]"
        )
    };
    let told = refused(&in_place(", store = 'default'"));
    assert!(
        told.starts_with("`sources.it.sources[0].inner`: "),
        "{told}"
    );
    assert!(told.contains("`collection`"), "{told}");
    for settings in [
        ", index = 'in_memory'",
        ", name = 'mine'",
        ", collection = 'mine'",
    ] {
        let mut parts = parts();
        parts.embedders = [(
            "default".to_owned(),
            Arc::new(HashingEmbedder::default()) as _,
        )]
        .into();
        let file: BTreeMap<String, BTreeMap<String, SourceSpec>> =
            toml::from_str(&in_place(settings)).unwrap();
        assert!(build(file["sources"].clone(), &parts).is_ok(), "{settings}");
    }
}

#[test]
fn settings_that_are_nothing_make_nothing() {
    let bare = SourceParts::new(Arc::new(Stores::default()), BTreeMap::new());
    assert!(build(BTreeMap::new(), &bare).unwrap().is_empty());
}

#[test]
fn collections_of_hybrid_search_are_its_own_and_its_leg_waits_as_long_as_it_is_told() {
    let told = refused("[sources.docs]\nkind = 'vector'\ncollection = 'hybrid:docs'");
    assert!(
        told.starts_with("`sources.docs.collection`: begins with `hybrid:`"),
        "{told}"
    );
    for (leg_timeout_ms, fits) in [(0, false), (1, true), (60_000, true), (60_001, false)] {
        let toml = format!("[sources.search]\nkind = 'hybrid'\nleg_timeout_ms = {leg_timeout_ms}");
        match (built(&toml), fits) {
            (Ok(sources), true) => assert!(sources.contains_key("search")),
            (Err(fault), false) => assert_eq!(fault.path, "sources.search.leg_timeout_ms"),
            (other, _) => panic!("{leg_timeout_ms}: {other:?}"),
        }
    }
}
