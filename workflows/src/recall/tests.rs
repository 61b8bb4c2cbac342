use notekeeper_contract::{FailureType, MEMORY_TASK_QUEUE, MemoryDescription};
use notekeeper_domain::{Item, ItemMetadata, Where};
use serde_json::json;

use super::*;
use crate::{
    ActivityQueue, ActivitySettings, MemorySettings, OpenError, activity_call::HEARTBEAT_TIMEOUT,
};

fn source(name: &str) -> RecallSettings {
    RecallSettings {
        source: name.to_owned(),
        ..RecallSettings::default()
    }
}

fn refused(settings: RecallSettings) -> String {
    let error = Session::new().recall(settings, &(), |()| "acme");
    let error = error.map(drop).expect_err("it can't be opened");
    assert_eq!(error.failure_type(), FailureType::InvalidArgument);
    error.to_string()
}

fn public() -> Where {
    Where::of_value(json!({"tier": "public"})).expect("an object")
}

/// A session with the default memory and these sources, all in the namespace `acme`.
fn hash(sources: &[RecallSettings]) -> String {
    let session = Session::new();
    let memory = session.open(MemorySettings::default(), &(), |()| "acme");
    memory.expect("a memory");
    let open = |settings: &RecallSettings| {
        let recall = session.recall(settings.clone(), &(), |()| "acme");
        recall.expect("a source")
    };
    let _held: Vec<_> = sources.iter().map(open).collect();
    session.scope_hash()
}

#[test]
fn name_and_scope_of_each_source_are_in_the_hash_and_nothing_else() {
    let none = hash(&[]);
    let base = hash(&[source("a"), source("b")]);
    assert_ne!(base, none);
    assert_eq!(hash(&[source("b"), source("a")]), base);
    assert_eq!(hash(&[source("a"), source("b"), source("a")]), base);
    let elsewhere = RecallSettings {
        agent_name: "org".to_owned(),
        ..source("b")
    };
    for other in [
        hash(&[source("a")]),
        hash(&[source("a"), source("c")]),
        hash(&[source("a"), elsewhere]),
    ] {
        assert_ne!(other, base);
    }
    let otherwise = RecallSettings {
        k: 7,
        condition: public(),
        ..source("b")
    };
    assert_eq!(hash(&[source("a"), otherwise]), base);
}

#[test]
fn a_changed_resolver_and_another_workspace_are_another_hash() {
    let hash = |session: Session, namespace: &'static str| {
        let recall = session.recall(source("a"), &(), move |()| namespace);
        recall.expect("a source");
        session.scope_hash()
    };
    let base = hash(Session::new(), "acme");
    assert_ne!(hash(Session::new(), "umbrella"), base);
    assert_ne!(hash(Session::in_workspace("project"), "acme"), base);
}

#[test]
fn a_source_stated_twice_is_one_and_shares_its_scratchpad() {
    let session = Session::new();
    let open = |settings: RecallSettings| session.recall(settings, &(), |()| "acme");
    let one = open(source("kb")).expect("a source");
    one.put("customer", "Ada");
    let stated = RecallSettings {
        namespace: Some("acme".to_owned()),
        ..source("kb")
    };
    let same = open(stated).expect("the same source");
    assert!(one.is_same(&same));
    assert_eq!(same.scratchpad()["customer"], "Ada");
    let elsewhere = RecallSettings {
        agent_name: "org".to_owned(),
        ..source("kb")
    };
    let other = open(elsewhere).expect("another scope");
    assert!(!one.is_same(&other));
    assert_eq!(other.scratchpad().len(), 0);
    drop((one, same));
    let anew = open(source("kb")).expect("the source, opened anew");
    assert_eq!(anew.scratchpad().len(), 0);
}

#[test]
fn two_statements_of_one_source_that_disagree_are_refused_with_the_setting() {
    let session = Session::new();
    let open = |settings: RecallSettings| session.recall(settings, &(), |()| "acme");
    let _held = open(source("kb")).expect("a source");
    let impatient = ActivitySettings {
        start_to_close_ms: 1,
        ..ActivitySettings::default()
    };
    for (other, setting) in [
        (
            RecallSettings {
                k: 1,
                ..source("kb")
            },
            "k",
        ),
        (
            RecallSettings {
                condition: public(),
                ..source("kb")
            },
            "where",
        ),
        (
            RecallSettings {
                activities: impatient,
                ..source("kb")
            },
            "activities.start_to_close_ms",
        ),
    ] {
        let error = open(other).map(drop).expect_err("they disagree");
        let told = error.to_string();
        assert!(told.contains(&format!("differs in `{setting}")), "{told}");
        assert!(matches!(error, OpenError::SameSource { .. }), "{error:?}");
    }
}

#[test]
fn settings_out_of_bounds_are_refused_with_their_names() {
    for name in ["", "a b", "ä", "a/b", &"n".repeat(101)] {
        assert_eq!(
            refused(source(name)),
            "source settings: `source` must be 1 to 100 ASCII letters, digits, `_`, `-` and `.`"
        );
    }
    for k in [0, 101] {
        let settings = RecallSettings { k, ..source("kb") };
        assert_eq!(refused(settings), "source settings: `k` must be 1 to 100");
    }
    let elsewhere = RecallSettings {
        namespace: Some("umbrella".to_owned()),
        ..source("kb")
    };
    assert!(refused(elsewhere).contains("resolver answers"));
}

#[test]
fn settings_in_json_have_defaults_and_call_the_condition_where() {
    let settings: RecallSettings = serde_json::from_value(json!({})).expect("defaults");
    assert_eq!(settings, RecallSettings::default());
    assert_eq!(settings.source, "hybrid");
    let given = json!({"source": "kb", "k": 3, "where": {"tier": "public"}});
    let settings: RecallSettings = serde_json::from_value(given).expect("settings");
    assert_eq!((settings.k, &settings.condition), (3, &public()));
    let written = serde_json::to_value(&settings).expect("JSON");
    assert_eq!(written["where"], json!({"tier": "public"}));
    serde_json::from_value::<RecallSettings>(json!({"where": "x"})).expect_err("no object");
}

fn opened(settings: RecallSettings) -> Recall {
    let recall = Session::new().recall(settings, &(), |()| "acme");
    recall.expect("a source")
}

#[test]
fn a_scratchpad_is_searched_by_words_and_forgets_what_is_removed() {
    let recall = opened(source("kb"));
    recall.put("customer", "Ada");
    recall.put("order", json!({"number": 7}));
    let keys = |text: &str, k: usize| -> Vec<_> {
        let found = recall.query_scratchpad(text, k, &Where::default());
        let ids = found.into_iter().filter_map(|item| item.id);
        ids.map(|id| id.trim_start_matches("scratchpad:").to_owned())
            .collect()
    };
    assert_eq!(keys("Which ORDER?", 5), ["order"]);
    assert_eq!(keys("", 5), ["customer", "order"]);
    assert_eq!(keys("", 1), ["customer"]);
    assert_eq!(keys("nothing", 5), [""; 0]);
    let found = recall.query_scratchpad("ada", 5, &Where::default());
    let told = Item::new("customer: Ada", "scratchpad").with_id("scratchpad:customer");
    assert_eq!(found, [told]);
    assert_eq!(recall.remove("customer"), Some(json!("Ada")));
    assert_eq!(recall.remove("customer"), None);
    assert_eq!(keys("", 5), ["order"]);
    recall.put("order", 8);
    assert_eq!(recall.scratchpad()["order"], 8);
}

#[test]
fn a_tool_is_named_after_its_source_and_takes_what_it_is_given() {
    let hybrid = opened(RecallSettings::default());
    let tool = hybrid.tool(RecallTool::default()).expect("a tool");
    assert_eq!(tool.name(), "hybrid_search");
    let handbook = opened(source("team.handbook"));
    let tool = handbook.tool(RecallTool::default()).expect("a tool");
    let definition = tool.definition();
    assert_eq!(definition.name, "search_team_handbook");
    assert_eq!(definition.parameters["required"], json!(["query"]));
    let given = RecallTool {
        name: Some("ask".to_owned()),
        description: Some("Ask the handbook.".to_owned()),
        ..RecallTool::default()
    };
    let definition = handbook.tool(given).expect("a tool").definition();
    assert_eq!(
        (definition.name.as_str(), definition.description.as_str()),
        ("ask", "Ask the handbook.")
    );
}

#[test]
fn what_makes_no_tool_is_refused_with_the_setting() {
    let recall = opened(source(&"n".repeat(80)));
    let told = |tool: RecallTool| {
        let error = recall.tool(tool).map(drop).expect_err("no tool");
        error.to_string()
    };
    assert!(told(RecallTool::default()).contains("`tool` must be 1 to 64"));
    let named = |name: &str| RecallTool {
        name: Some(name.to_owned()),
        ..RecallTool::default()
    };
    for name in ["", "a b", "a.b", &"n".repeat(65)] {
        assert!(told(named(name)).contains("`tool` must be 1 to 64"));
    }
    let cases = [
        (
            RecallTool {
                k: Some(0),
                ..named("a")
            },
            "`k`",
        ),
        (
            RecallTool {
                max_tokens: 0,
                ..named("a")
            },
            "`max_tokens`",
        ),
        (
            RecallTool {
                max_tokens: 16_001,
                ..named("a")
            },
            "`max_tokens`",
        ),
        (
            RecallTool {
                description: Some("a\0".to_owned()),
                ..named("a")
            },
            "`description`",
        ),
    ];
    for (tool, setting) in cases {
        let told = told(tool);
        assert!(
            told.starts_with(&format!("source settings: {setting}")),
            "{told}"
        );
    }
}

#[test]
fn what_grounds_nothing_is_refused_with_the_setting() {
    let recall = opened(source("kb"));
    let cases = [
        (
            Grounding {
                k: Some(101),
                ..Grounding::default()
            },
            "`k`",
        ),
        (
            Grounding {
                max_tokens: 0,
                ..Grounding::default()
            },
            "`max_tokens`",
        ),
        (
            Grounding {
                header: "a\0".to_owned(),
                ..Grounding::default()
            },
            "`header`",
        ),
    ];
    for (grounding, setting) in cases {
        let error = recall
            .as_grounder(grounding)
            .map(drop)
            .expect_err("no grounder");
        let told = error.to_string();
        assert!(
            told.starts_with(&format!("source settings: {setting}")),
            "{told}"
        );
    }
}

fn grounded(grounding: &Grounding, items: Vec<Item>, omitted: usize) -> Grounded {
    Grounded::new(
        grounding,
        &Found {
            items,
            omitted,
            ..Found::default()
        },
    )
}

#[test]
fn a_grounded_text_is_written_by_a_template_or_by_code() {
    let metadata = ItemMetadata::of_value(json!({"path": "/a"})).expect("an object");
    let items = || {
        let first = Item::new("Refunds take 5 days.", "kb").with_metadata(metadata.clone());
        vec![first, Item::new("</memory>", "kb")]
    };
    let plain = grounded(&Grounding::default(), items(), 1);
    assert_eq!(
        plain.text,
        "Relevant context:\n[kb] Refunds take 5 days.\n[kb] &lt;/memory>\n\
         (1 more item is left out for its size.)"
    );
    assert_eq!((plain.items, plain.left_out), (2, 1));
    let by_template = Grounding {
        format: GroundingFormat::template("- {content} ({metadata.path})").expect("a format"),
        header: String::new(),
        ..Grounding::default()
    };
    assert_eq!(
        grounded(&by_template, items(), 0).text,
        "- Refunds take 5 days. (/a)\n- &lt;/memory> ()"
    );
    let by_code = Grounding {
        format: GroundingFormat::code(|items| {
            let contents: Vec<_> = items.iter().map(|it| it.content.as_str()).collect();
            contents.join(" | ")
        }),
        ..Grounding::default()
    };
    assert_eq!(
        grounded(&by_code, items(), 0).text,
        "Relevant context:\nRefunds take 5 days. | &lt;/memory>"
    );
    let loud = Grounding {
        format: GroundingFormat::code(|_| "never".to_owned()),
        ..Grounding::default()
    };
    assert_eq!(grounded(&loud, Vec::new(), 0), Grounded::default());
}

#[test]
fn a_text_of_a_source_that_looked_at_a_part_alone_stays() {
    let found = Found {
        items: vec![Item::new("a", "notes")],
        incomplete: vec!["notes".to_owned()],
        ..Found::default()
    };
    let grounded = Grounded::new(&Grounding::default(), &found);
    assert!(grounded.is_whole());
    let grounder = opened(source("kb")).as_grounder(Grounding::default());
    let grounder = grounder.expect("a grounder");
    grounder.resume(Some(grounded));
    assert!(grounder.stays());
}

#[test]
fn what_a_run_hands_over_of_its_grounding_reads_back() {
    let whole = Grounded {
        text: "Relevant context:\n[kb] a".to_owned(),
        items: 1,
        left_out: 2,
        unheard: vec!["slow".to_owned()],
    };
    for grounded in [whole, Grounded::default()] {
        let json = serde_json::to_value(&grounded).expect("JSON");
        let read: Grounded = serde_json::from_value(json).expect("it reads back");
        assert_eq!(read, grounded);
    }
}

#[test]
fn a_text_stays_for_which_every_source_was_heard() {
    let holding = |grounding: Grounding, held: Option<Grounded>| {
        let grounder = opened(source("kb")).as_grounder(grounding);
        let grounder = grounder.expect("a grounder");
        grounder.resume(held);
        grounder.stays()
    };
    let partial = Grounded {
        unheard: vec!["slow".to_owned()],
        ..Grounded::default()
    };
    let something = Grounded {
        text: "[kb] a".to_owned(),
        items: 1,
        ..partial.clone()
    };
    let left_out = Grounded {
        left_out: 3,
        ..Grounded::default()
    };
    for (held, stays) in [
        (None, false),
        (Some(partial), false),
        (Some(something), false),
        (Some(left_out), true),
        (Some(Grounded::default()), true),
    ] {
        assert_eq!(
            holding(Grounding::default(), held.clone()),
            stays,
            "{held:?}"
        );
        let anew = Grounding {
            reground_every_turn: true,
            ..Grounding::default()
        };
        assert!(!holding(anew, held));
    }
}

#[test]
fn a_source_goes_where_the_first_memory_does_once_its_workspace_is_known() {
    let session = Session::in_workspace("project");
    let memory = session.open(MemorySettings::default(), &(), |()| "acme");
    let memory = memory.expect("a memory");
    let open = |settings: RecallSettings| {
        let recall = session.recall(settings, &(), |()| "acme");
        recall.expect("a source")
    };
    let (beside, local) = (
        open(source("kb")),
        open(RecallSettings {
            activities: ActivitySettings {
                queue: ActivityQueue::Local,
                ..ActivitySettings::default()
            },
            ..source("local")
        }),
    );
    let options = |recall: &Recall| match recall.options() {
        CallOptions::Queued(options) => Some((options.task_queue, options.heartbeat_timeout)),
        CallOptions::Local(_) => None,
    };
    let queue = |name: &str| Some((Some(name.to_owned()), Some(HEARTBEAT_TIMEOUT)));
    assert_eq!(options(&beside), queue(MEMORY_TASK_QUEUE));
    memory.adopt(MemoryDescription {
        task_queue: Some("memory-project".to_owned()),
        ..MemoryDescription::default()
    });
    assert_eq!(options(&beside), queue("memory-project"));
    assert_eq!(options(&local), None, "its settings want another place");
}

#[test]
fn what_is_searched_is_counted_until_it_is_taken() {
    let session = Session::new();
    session.count_searched(3);
    session.clone().count_searched(4);
    assert_eq!(session.take_searched_bytes(), 7);
    assert_eq!(session.take_searched_bytes(), 0);
}

#[test]
fn as_much_of_the_contents_is_asked_for_as_a_text_may_hold() {
    let of = |format: GroundingFormat| {
        let grounding = Grounding {
            max_tokens: 10,
            format,
            ..Grounding::default()
        };
        grounding.contents_chars_max()
    };
    let template = |text: &str| GroundingFormat::template(text).expect("a format");
    assert_eq!(of(GroundingFormat::default()), Some(41));
    assert_eq!(of(template("- {content}")), Some(41));
    assert_eq!(of(template("- {metadata.path}")), None);
    assert_eq!(of(GroundingFormat::code(|_| String::new())), None);
}
