use notekeeper_contract::FailureType;

use super::*;
use crate::ConversationSettings;

fn settings(id: &str) -> MemorySettings {
    MemorySettings {
        id: id.to_owned(),
        ..MemorySettings::default()
    }
}

fn org() -> MemorySettings {
    MemorySettings {
        agent_name: "org".to_owned(),
        prefix: "org".to_owned(),
        ..settings("org")
    }
}

/// Opens memories in the namespace `acme`.
fn opened(memories: &[MemorySettings]) -> Result<(Session, Vec<Memory>), OpenError> {
    let session = Session::new();
    let open = |memory: &MemorySettings| session.open(memory.clone(), &"acme", |input| *input);
    let memories = memories.iter().map(open).collect::<Result<_, _>>()?;
    Ok((session, memories))
}

fn refused(memories: &[MemorySettings]) -> OpenError {
    opened(memories)
        .map(drop)
        .expect_err("they can't stand beside each other")
}

#[test]
fn memories_with_ids_scopes_and_tools_of_their_own_stand_beside_each_other() {
    let (_, memories) = opened(&[MemorySettings::default(), org()]).expect("two memories");
    let scopes: Vec<_> = memories.iter().map(|it| it.scope().as_str()).collect();
    assert_eq!(scopes, ["acme/main", "acme/org"]);
    assert!(memories[0].owns_tool("write_memory") && !memories[0].owns_tool("org_write_memory"));
    assert!(memories[1].owns_tool("org_write_memory") && !memories[1].owns_tool("write_memory"));
}

#[test]
fn a_memory_stated_twice_is_one() {
    let (_, memories) = opened(&[org(), MemorySettings::default(), org()]).expect("memories");
    assert!(memories[0].is_same(&memories[2]));
    assert!(!memories[0].is_same(&memories[1]));
}

#[test]
fn a_memory_whose_handles_are_gone_can_be_opened_again() {
    let session = Session::new();
    let open = || session.open(MemorySettings::default(), &(), |()| "acme");
    let hash = || session.scope_hash();
    drop(open().expect("a memory"));
    let before = hash();
    open().expect("the same memory");
    assert_eq!(hash(), before);
}

#[test]
fn two_statements_of_one_memory_that_disagree_are_refused_with_the_setting() {
    let other = MemorySettings {
        max_lines: 7,
        ..MemorySettings::default()
    };
    let error = refused(&[MemorySettings::default(), other]);
    assert_eq!(
        error.to_string(),
        "two memories have the id `memory` and differ in `max_lines`; give one of them another `id`, \
         or both the same settings"
    );
    let session = Session::new();
    let open =
        |namespace: &'static str| session.open(MemorySettings::default(), &(), move |()| namespace);
    let _first = open("acme").expect("a memory");
    let error = open("umbrella").map(drop).expect_err("another namespace");
    let setting = "namespace".to_owned();
    let id = "memory".to_owned();
    assert_eq!(error, OpenError::Disagreement { id, setting });
}

#[test]
fn a_setting_out_of_bounds_is_told_with_its_memory() {
    let wrong = MemorySettings {
        max_tokens: 0,
        ..org()
    };
    assert_eq!(
        refused(&[MemorySettings::default(), wrong]).to_string(),
        "memory settings: `max_tokens` must be at least 1, in the memory `org`"
    );
    let nameless = refused(&[settings("")]).to_string();
    assert!(
        nameless.starts_with("memory settings: `id` must be 1 to 64"),
        "{nameless}"
    );
}

#[test]
fn two_memories_on_one_scope_of_one_store_are_refused() {
    let beside = MemorySettings {
        prefix: "org".to_owned(),
        ..settings("org")
    };
    let error = refused(&[MemorySettings::default(), beside.clone()]);
    assert!(matches!(error, OpenError::SameScope { .. }), "{error}");
    // The same scope of another store is another place.
    let elsewhere = MemorySettings {
        store: "eu".to_owned(),
        ..beside
    };
    opened(&[MemorySettings::default(), elsewhere]).expect("two memories");
}

#[test]
fn two_memories_with_one_tool_name_are_refused() {
    let beside = MemorySettings {
        prefix: String::new(),
        ..org()
    };
    assert_eq!(
        refused(&[MemorySettings::default(), beside]).to_string(),
        "the memories `memory` and `org` both have the tool `write_memory`; give each its own `prefix`"
    );
}

#[test]
fn memories_can_have_namespaces_of_their_own_that_the_resolver_agrees_to() {
    let own = MemorySettings {
        namespace: Some("org".to_owned()),
        ..MemorySettings::default()
    };
    let open = |namespace| Session::new().open(own.clone(), &(), move |()| namespace);
    assert_eq!(open("org").expect("a memory").scope().as_str(), "org/main");
    let error = open("acme").map(drop).expect_err("the resolver decides");
    assert!(
        error.to_string().contains("`namespace` is not what"),
        "{error}"
    );
}

#[test]
fn a_resolver_that_fails_is_told_whatever_injection_errors_are() {
    let failed = Session::new().open(MemorySettings::default(), &(), |()| {
        Err::<String, _>("nobody is signed in")
    });
    let error = failed.map(drop).expect_err("no namespace");
    assert_eq!(error.failure_type(), FailureType::InvalidScope);
    assert_eq!(
        error.to_string(),
        "memory, conversation or source can't be opened: the namespace resolver failed: nobody is signed in"
    );
}

fn hash(memories: &[MemorySettings]) -> String {
    opened(memories).expect("memories").0.scope_hash()
}

/// Running conversations go on: what they address has the hash that it had before memories had ids.
#[test]
fn the_hash_of_a_memory_with_the_default_id_is_that_of_store_and_scope() {
    let pairs = r#"[["default","acme/main"]]"#;
    assert_eq!(hash(&[MemorySettings::default()]), short_hash(pairs));
}

#[test]
fn store_scope_and_id_of_each_memory_are_in_the_hash_and_nothing_else() {
    let base = hash(&[MemorySettings::default(), org()]);
    assert_eq!(
        hash(&[org(), MemorySettings::default()]),
        base,
        "the order isn't"
    );
    let renamed = MemorySettings {
        id: "team".to_owned(),
        ..org()
    };
    let moved = MemorySettings {
        store: "eu".to_owned(),
        ..org()
    };
    let other_agent = MemorySettings {
        agent_name: "team".to_owned(),
        ..org()
    };
    for changed in [renamed, moved, other_agent] {
        assert_ne!(hash(&[MemorySettings::default(), changed]), base);
    }
    let reworded = MemorySettings {
        heading: "Org".to_owned(),
        max_tokens: 7,
        ..org()
    };
    assert_eq!(hash(&[MemorySettings::default(), reworded]), base);
}

fn conversation(id: &str) -> ConversationSettings {
    ConversationSettings {
        id: id.to_owned(),
        ..ConversationSettings::default()
    }
}

/// A session with the default memory and these conversations, all in the namespace `acme`.
fn conversing(conversations: &[ConversationSettings]) -> Result<Session, OpenError> {
    let (session, memories) = opened(&[MemorySettings::default()])?;
    drop(memories);
    for settings in conversations {
        session.converse(settings.clone(), &"acme", |input| *input)?;
    }
    Ok(session)
}

#[test]
fn store_scope_and_id_of_each_conversation_are_in_the_hash_and_nothing_else() {
    let hash = |conversations: &[ConversationSettings]| {
        conversing(conversations)
            .expect("conversations")
            .scope_hash()
    };
    let none = hash(&[]);
    assert_eq!(none, short_hash(r#"[["default","acme/main"]]"#));
    let base = hash(&[conversation("a"), conversation("b")]);
    assert_ne!(base, none);
    assert_eq!(hash(&[conversation("b"), conversation("a")]), base);
    assert_eq!(
        hash(&[conversation("a"), conversation("b"), conversation("a")]),
        base,
        "one that is opened twice is one"
    );
    let moved = ConversationSettings {
        store: "eu".to_owned(),
        ..conversation("b")
    };
    let elsewhere = ConversationSettings {
        agent_name: "org".to_owned(),
        prefix: "org".to_owned(),
        ..conversation("b")
    };
    let others = [
        hash(&[conversation("a")]),
        hash(&[conversation("a"), conversation("c")]),
        hash(&[
            conversation("a"),
            ConversationSettings {
                prefix: "eu".to_owned(),
                ..moved
            },
        ]),
        hash(&[conversation("a"), elsewhere]),
    ];
    for other in others {
        assert_ne!(other, base);
    }
    let reworded = ConversationSettings {
        max_recalled_facts: 3,
        ..conversation("b")
    };
    assert_eq!(hash(&[conversation("a"), reworded]), base);
}

#[test]
fn the_workspace_is_in_the_hash_of_a_conversation_without_memories() {
    let hash = |session: Session| {
        session
            .converse(conversation("a"), &(), |()| "acme")
            .expect("a conversation");
        session.scope_hash()
    };
    assert_ne!(hash(Session::new()), hash(Session::in_workspace("project")));
}

#[test]
fn a_changed_resolver_is_another_hash() {
    let hash = |namespace: &'static str| {
        let session = Session::new();
        session
            .converse(conversation("a"), &(), move |()| namespace)
            .expect("a conversation");
        session.scope_hash()
    };
    assert_ne!(hash("acme"), hash("umbrella"));
}

#[test]
fn conversations_of_one_scope_stand_beside_each_other_and_others_need_prefixes() {
    conversing(&[conversation("a"), conversation("b")]).expect("they share their facts");
    let other = ConversationSettings {
        agent_name: "org".to_owned(),
        ..conversation("a")
    };
    let refused = conversing(&[conversation("a"), other.clone()])
        .map(drop)
        .expect_err("two facts, one name");
    assert_eq!(
        refused.to_string(),
        "two conversations both have the tool `remember`; give each its own `prefix`"
    );
    let prefixed = ConversationSettings {
        prefix: "org".to_owned(),
        ..other
    };
    conversing(&[conversation("a"), prefixed]).expect("each has its own tools");
}

#[test]
fn a_conversation_that_is_opened_twice_has_to_be_the_same() {
    let other = ConversationSettings {
        max_recalled_facts: 3,
        ..conversation("a")
    };
    let refused = conversing(&[conversation("a"), other])
        .map(drop)
        .expect_err("which one?");
    assert_eq!(
        refused.to_string(),
        "a conversation is opened twice, and differs in `max_recalled_facts`; give both the same \
         settings"
    );
    assert_eq!(refused.failure_type(), FailureType::InvalidArgument);
}

#[test]
fn settings_of_a_conversation_that_cannot_be_used_are_refused_with_their_name() {
    let wrong = [
        (conversation(""), "`id`: conversation id must have"),
        (conversation("a\n"), "`id`: conversation id must have"),
        (
            ConversationSettings {
                max_recalled_facts: 0,
                ..conversation("a")
            },
            "`max_recalled_facts` must be 1 to 1000",
        ),
        (
            ConversationSettings {
                prefix: "a b".to_owned(),
                ..conversation("a")
            },
            "`prefix` must be at most 40",
        ),
        (
            ConversationSettings {
                store: String::new(),
                ..conversation("a")
            },
            "`store` must have 1 to 200 bytes",
        ),
        (
            ConversationSettings {
                namespace: Some("umbrella".to_owned()),
                ..conversation("a")
            },
            "`namespace` is not what the workflow's resolver answers",
        ),
    ];
    for (settings, said) in wrong {
        let refused = conversing(&[settings]).map(drop).expect_err(said);
        let text = refused.to_string();
        assert!(text.starts_with("conversation settings: "), "{text}");
        assert!(text.contains(said), "{text}");
    }
}

#[test]
fn a_resolver_that_fails_opens_no_conversation() {
    let session = Session::new();
    let failed = session.converse(conversation("a"), &(), |()| {
        Err::<String, _>("nobody is signed in")
    });
    let error = failed.map(drop).expect_err("no namespace");
    assert_eq!(error.failure_type(), FailureType::InvalidScope);
}
