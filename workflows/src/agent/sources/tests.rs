use notekeeper_contract::{Argument, FailureType, read_strictly};
use serde_json::{Value, json};

use super::*;
use crate::agent::setup::Setup;

/// As `AgentWorkflow` resolves.
fn resolve(input: &AgentInput, memory: &MemorySettings) -> Result<String, String> {
    Ok(memory
        .namespace
        .as_ref()
        .unwrap_or(&input.namespace)
        .clone())
}

fn setup(input: Value) -> Result<Setup, AgentFailure> {
    let mut input: AgentInput = serde_json::from_value(input).expect("an input");
    "acme".clone_into(&mut input.namespace);
    Setup::new(Argument::from(input), "workflow-1", resolve)
}

fn refused(input: Value) -> String {
    let failure = setup(input).map(drop).expect_err("it is refused");
    assert_eq!(failure.type_name(), FailureType::InvalidArgument.as_str());
    failure.message()
}

fn names(setup: &Setup) -> Vec<String> {
    let definitions = setup.definitions();
    definitions.into_iter().map(|tool| tool.name).collect()
}

#[test]
fn sources_are_tools_in_the_scope_of_the_first_memory() {
    let setup = setup(json!({
        "memories": [{"agent_name": "desk"}],
        "sources": [{"source": "hybrid"}, {"source": "kb", "tool": "look_up", "k": 3}],
    }))
    .expect("a setup");
    let names = names(&setup);
    assert_eq!(names[names.len() - 2..], ["hybrid_search", "look_up"]);
    for tool in &setup.source_tools {
        assert_eq!(tool.recall().scope().as_str(), "acme/desk");
    }
    assert!(setup.grounder.is_none());
}

#[test]
fn one_definition_serves_as_grounding_and_as_a_tool() {
    let setup = setup(json!({
        "sources": [{
            "source": "kb", "k": 3, "where": {"tier": "public"}, "namespace": "shared",
            "agent_name": "docs",
        }],
        "grounding": {"source": "kb"},
    }))
    .expect("a setup");
    let grounder = setup.grounder.as_ref().expect("a grounder");
    assert!(grounder.recall().is_same(setup.source_tools[0].recall()));
    assert_eq!(grounder.recall().scope().as_str(), "shared/docs");
    let condition = Where::of_value(json!({"tier": "public"}));
    assert_eq!(grounder.grounding().k, Some(3));
    assert_eq!(grounder.grounding().condition, condition);
}

#[test]
fn what_the_grounding_says_itself_goes_before_the_tools_definition() {
    let setup = setup(json!({
        "sources": [{"source": "kb", "k": 3, "where": {"tier": "public"}}],
        "grounding": {"source": "kb", "k": 8, "where": {}, "header": "", "namespace": "shared"},
    }))
    .expect("a setup");
    let grounder = setup.grounder.as_ref().expect("a grounder");
    assert_eq!(grounder.grounding().k, Some(8));
    assert_eq!(grounder.grounding().condition, Some(Where::default()));
    assert_eq!(grounder.grounding().header, "");
    assert_eq!(grounder.recall().scope().as_str(), "shared/main");
    assert_eq!(setup.source_tools[0].recall().scope().as_str(), "acme/main");
}

#[test]
fn a_resolver_decides_on_the_namespace_of_a_source_too() {
    let strict = |_: &AgentInput, memory: &MemorySettings| match memory.id.as_str() {
        "handbook" => Ok("company".to_owned()),
        _ => Ok("customers/17".to_owned()),
    };
    let scopes = |source: Value| {
        let input = json!({"sources": [source]});
        let input: AgentInput = serde_json::from_value(input).expect("an input");
        let setup = Setup::new(Argument::from(input), "workflow-1", strict)?;
        Ok::<_, AgentFailure>(setup.source_tools[0].recall().scope().as_str().to_owned())
    };
    let scope = |source| scopes(source).expect("a setup");
    assert_eq!(scope(json!({"source": "handbook"})), "customers/17/main");
    let company = json!({"source": "handbook", "namespace": "company"});
    assert_eq!(scope(company), "company/main");
    let other = json!({"source": "kb", "namespace": "company"});
    let failure = scopes(other).expect_err("another tenant");
    assert!(failure.message().contains("resolver answers"), "{failure}");
}

/// An agent name moves nothing to another tenant, whatever the resolver would answer for a name that the input
/// doesn't give.
#[test]
fn an_agent_name_alone_stays_in_the_namespace_of_the_first_memory() {
    let source = json!({"source": "kb", "agent_name": "docs"});
    for input in [
        json!({"sources": [source], "grounding": {"source": "kb"}}),
        json!({"sources": [{"source": "kb"}], "grounding": source}),
        json!({"grounding": source}),
    ] {
        let mut input = input;
        input["memories"] = json!([{"namespace": "customers/17"}]);
        let setup = setup(input).expect("a setup");
        let grounder = setup.grounder.as_ref().expect("a grounder");
        assert_eq!(grounder.recall().scope().as_str(), "customers/17/docs");
        for tool in &setup.source_tools {
            assert_eq!(tool.recall().scope().namespace(), "customers/17");
        }
    }
}

#[test]
fn the_grounding_has_number_and_conditions_of_a_tool_of_its_own_scope_alone() {
    let sources = json!([
        {"source": "kb", "k": 3, "where": {"tier": "public"}},
        {"source": "kb", "k": 4, "where": {"tier": "all"}, "tool": "look_up", "namespace": "shared"},
    ]);
    let grounding = |given: Value| {
        let setup = setup(json!({"sources": sources, "grounding": given})).expect("a setup");
        let grounder = setup.grounder.as_ref().expect("a grounder");
        let grounding = grounder.grounding();
        (grounding.k, grounding.condition.clone())
    };
    let condition = |tier: &str| Where::of_value(json!({"tier": tier}));
    let own = json!({"source": "kb"});
    assert_eq!(grounding(own), (Some(3), condition("public")));
    let shared = json!({"source": "kb", "namespace": "shared"});
    assert_eq!(grounding(shared), (Some(4), condition("all")));
    let elsewhere = json!({"source": "kb", "agent_name": "other"});
    assert_eq!(grounding(elsewhere), (None, None));
}

#[test]
fn a_failing_search_is_told_to_the_model_unless_the_input_says_otherwise() {
    let errors = |given: Value| {
        let source: AgentSource = serde_json::from_value(given).expect("a source");
        let written = serde_json::to_value(&source).expect("JSON");
        (source.errors, written.get("errors").cloned())
    };
    let told = json!({"source": "kb", "errors": "tell"});
    assert_eq!(errors(told), (SearchErrors::Tell, None));
    assert_eq!(errors(json!({"source": "kb"})), (SearchErrors::Tell, None));
    let failing = json!({"source": "kb", "errors": "fail"});
    assert_eq!(errors(failing), (SearchErrors::Fail, Some(json!("fail"))));
    let other = json!({"source": "kb", "errors": "ignore"});
    serde_json::from_value::<AgentSource>(other).expect_err("no such word");
}

#[test]
fn two_tools_may_ask_one_source_under_different_conditions() {
    let setup = setup(json!({
        "sources": [
            {"source": "kb", "where": {"tier": "public"}},
            {"source": "kb", "tool": "search_internal", "where": {"tier": "internal"}},
        ],
    }))
    .expect("a setup");
    assert!(
        setup.source_tools[0]
            .recall()
            .is_same(setup.source_tools[1].recall())
    );
}

#[test]
fn tools_of_one_name_are_refused_whoever_has_them() {
    let tool = |name: &str| json!({"source": "kb", "tool": name});
    let own = json!([{"name": "look_up", "description": "", "parameters": {}, "activity": "a"}]);
    for (input, name) in [
        (json!({"sources": [tool("search_memory")]}), "search_memory"),
        (
            json!({"sources": [tool("recall")], "fact_tools": true}),
            "recall",
        ),
        (
            json!({"sources": [tool("look_up")], "tools": own}),
            "look_up",
        ),
        (
            json!({"sources": [{"source": "a.b"}, {"source": "a_b"}]}),
            "search_a_b",
        ),
        (
            json!({"sources": [tool("read_memory")], "memories": [{"inject_memory": false}]}),
            "read_memory",
        ),
    ] {
        let told = refused(input);
        assert_eq!(
            told,
            format!("workflow input: two tools are named `{name}`")
        );
    }
    setup(json!({"sources": [tool("recall")]})).expect("the facts have no tools");
}

#[test]
fn what_is_out_of_bounds_is_refused_with_its_place() {
    let many: Vec<_> = (0..33)
        .map(|n| json!({"source": format!("s{n}")}))
        .collect();
    let cases = [
        json!({"grounding": {"source": "a b"}}),
        json!({"grounding": {"source": "kb", "k": 0}}),
        json!({"grounding": {"source": "kb", "format": "{contnt}"}}),
        json!({"grounding": {"source": "kb", "format": "no item"}}),
        json!({"grounding": {"source": "kb", "header": "x".repeat(1_001)}}),
        json!({"grounding": {"source": "kb", "max_tokens": 16_001}}),
        json!({"grounding": {"source": "kb", "where": {"a": "b\u{0}"}}}),
        json!({"grounding": {"source": "kb", "where": {"a": vec![1; 101]}}}),
        json!({"sources": [{"source": "kb"}, {"source": ""}]}),
        json!({"sources": [{"source": "kb", "tool": "a b"}]}),
        json!({"sources": [{"source": "kb", "k": 101}]}),
        json!({"sources": [{"source": "kb", "max_tokens": 0}]}),
        json!({"sources": [{"source": "kb", "where": {"a": "x".repeat(16_384)}}]}),
        json!({"sources": many}),
    ];
    let said: Vec<_> = cases.into_iter().map(refused).collect();
    let expected = [
        "`grounding`: `source` must be 1 to 100 ASCII letters, digits, `_`, `-` and `.`",
        "`grounding`: `k` must be 1 to 100",
        "`grounding`: `format` names `{contnt}`, which no item has; did you mean `{content}`?",
        "`grounding`: `format` names nothing of an item; put `{content}` where its text is to stand",
        "`grounding`: `header` must have at most 1000 characters, none of them NUL",
        "`grounding`: `max_tokens` must be 1 to 16000",
        "`grounding`: `where` contains a NUL character (U+0000); leave it out",
        "`grounding`: `where` wants 101 values in lists, 100 are allowed; ask for fewer",
        "`sources[1]`: `source` must be 1 to 100 ASCII letters, digits, `_`, `-` and `.`",
        "`sources[0]`: `tool` must be 1 to 64 ASCII letters, digits, `_` and `-`, also where it follows \
         from the name of the source",
        "`sources[0]`: `k` must be 1 to 100",
        "`sources[0]`: `max_tokens` must be 1 to 16000",
        "`sources[0]`: `where` must have at most 16384 bytes as JSON, and lists and objects in at most 32 \
         levels",
        "`sources` has more than 32 entries",
    ];
    let expected: Vec<_> = expected
        .iter()
        .map(|it| format!("workflow input: {it}"))
        .collect();
    assert_eq!(said, expected);
}

#[test]
fn an_input_without_sources_addresses_and_says_what_it_did_before_there_were_any() {
    let before = setup(json!({})).expect("a setup").session.scope_hash();
    let grounded = setup(json!({"grounding": {"source": "kb"}})).expect("a setup");
    let offered = setup(json!({"sources": [{"source": "kb"}]})).expect("a setup");
    assert_ne!(grounded.session.scope_hash(), before);
    assert_eq!(grounded.session.scope_hash(), offered.session.scope_hash());
    let written = serde_json::to_value(AgentInput::default()).expect("JSON");
    assert!(written.get("grounding").is_none() && written.get("sources").is_none());
}

#[test]
fn a_misspelt_key_of_a_source_is_refused() {
    let input = json!({"sources": [{"source": "kb", "wher": {}}], "grounding": {"source": "kb"}});
    let told = read_strictly::<AgentInput, _>(input).expect_err("an unknown key");
    assert_eq!(
        told.to_string(),
        "`sources[0].wher` is no known field; did you mean `where`?"
    );
}

#[test]
fn the_documented_input_is_usable() {
    let page = include_str!("../../../../docs/grounding.md");
    let (_, after) = page
        .split_once("<!-- input: grounding -->\n```json\n")
        .expect("the input");
    let (json, _) = after.split_once("```").expect("its end");
    let input: Value = serde_json::from_str(json).expect("JSON");
    let input = read_strictly::<AgentInput, _>(input).expect("no unknown key");
    let setup = Setup::new(Argument::from(input), "workflow-1", resolve).expect("a setup");
    let grounder = setup.grounder.as_ref().expect("a grounder");
    assert_eq!(grounder.recall().scope().as_str(), "company/main");
    assert_eq!(grounder.grounding().k, Some(3));
    let names = names(&setup);
    assert_eq!(
        names[names.len() - 2..],
        ["search_handbook", "hybrid_search"]
    );
}
