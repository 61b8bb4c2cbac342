use std::collections::BTreeMap;

use super::*;

fn read(toml: &str) -> Result<BTreeMap<String, SourceSpec>, String> {
    toml::from_str::<BTreeMap<String, BTreeMap<String, SourceSpec>>>(toml)
        .map(|mut file| file.remove("sources").unwrap_or_default())
        .map_err(|error| error.message().to_owned())
}

fn read_one(table: &str) -> Result<SourceSpec, String> {
    let mut specs = read(&format!("[sources.it]\n{table}"))?;
    Ok(specs.remove("it").unwrap())
}

fn kind(table: &str) -> SourceKind {
    read_one(table).unwrap().kind
}

/// Checks that each of these tables is read as this.
fn assert_read(tables: Vec<(&str, SourceKind)>) {
    for (table, kind) in tables {
        let named = format!("kind = '{}'", kind.as_str());
        assert!(table.starts_with(&named), "{table}");
        assert_eq!(
            read_one(table),
            Ok(SourceSpec { name: None, kind }),
            "{table}"
        );
    }
}

#[test]
fn what_has_something_behind_it_can_be_given_with_nothing_but_what_it_must_have() {
    let default = || "default".to_owned();
    assert_read(vec![
        (
            "kind = 'vector'",
            SourceKind::Vector {
                index: VectorPlace::Store {
                    store: default(),
                    embedder: default(),
                    collection: None,
                },
            },
        ),
        (
            "kind = 'vector'\nindex = 'in_memory'",
            SourceKind::Vector {
                index: VectorPlace::InMemory,
            },
        ),
        ("kind = 'file'", SourceKind::File { store: default() }),
        ("kind = 'journal'", SourceKind::Journal { store: default() }),
        ("kind = 'facts'", SourceKind::Facts { store: default() }),
        (
            "kind = 'transcript'",
            SourceKind::Transcript {
                store: default(),
                conversation: None,
            },
        ),
        ("kind = 'notes'", SourceKind::Notes { store: default() }),
        (
            "kind = 'hybrid'",
            SourceKind::Hybrid {
                store: default(),
                embedder: default(),
                leg_timeout_ms: 2_000,
            },
        ),
        ("kind = 'scratchpad'", SourceKind::Scratchpad),
        (
            "kind = 'tool'\nurl = 'http://localhost/search'",
            SourceKind::Tool {
                tool: ToolSpec::Http {
                    url: "http://localhost/search".to_owned(),
                    headers_env: BTreeMap::new(),
                    network_is_trusted: false,
                    scope_arg: None,
                    timeout_seconds: None,
                },
                query_arg: "query".to_owned(),
            },
        ),
        (
            "kind = 'tool'\nactivity = 'search_docs'\ntask_queue = 'docs'",
            SourceKind::Tool {
                tool: ToolSpec::Activity {
                    activity: "search_docs".to_owned(),
                    task_queue: "docs".to_owned(),
                    timeout_seconds: None,
                },
                query_arg: "query".to_owned(),
            },
        ),
    ]);
}

#[test]
fn what_is_made_of_others_can_be_given_with_nothing_but_what_it_must_have() {
    let inner = || Box::new(Member::Named("x".to_owned()));
    assert_read(vec![
        (
            "kind = 'composite'\nsources = ['x']",
            SourceKind::Composite {
                sources: vec![Member::Named("x".to_owned())],
                dedupe: Dedupe::Id,
                rerank: Rerank::Score,
                leg_timeout_ms: 2_000,
                concurrency: 8,
            },
        ),
        (
            "kind = 'sequential'\nsources = ['x']",
            SourceKind::Sequential {
                sources: vec![Member::Named("x".to_owned())],
                leg_timeout_ms: 2_000,
            },
        ),
        (
            "kind = 'scoped'\ninner = 'x'",
            SourceKind::Scoped {
                inner: inner(),
                require: Require::Namespace,
            },
        ),
        (
            "kind = 'cached'\ninner = 'x'",
            SourceKind::Cached {
                inner: inner(),
                ttl_seconds: 60,
                entries_max: 1_000,
            },
        ),
        (
            "kind = 'compacted'\ninner = 'x'",
            SourceKind::Compacted {
                inner: inner(),
                chars_max: 1_000,
                model: None,
                max_items: None,
            },
        ),
        (
            "kind = 'read_only'\ninner = 'x'",
            SourceKind::ReadOnly {
                inner: inner(),
                on_write: OnWrite::Refuse,
            },
        ),
    ]);
}

#[test]
fn words_of_settings_are_read() {
    for (word, dedupe) in [
        ("id", Dedupe::Id),
        ("content", Dedupe::Content),
        ("none", Dedupe::None),
    ] {
        let table = format!("kind = 'composite'\nsources = []\nrerank = 'rrf'\ndedupe = '{word}'");
        let SourceKind::Composite {
            dedupe: read,
            rerank,
            ..
        } = kind(&table)
        else {
            panic!("{table}")
        };
        assert_eq!((read, rerank), (dedupe, Rerank::Rrf));
    }
    for (word, require) in [
        ("'namespace'", Require::Namespace),
        ("{ prefix = 'acme' }", Require::Prefix("acme".to_owned())),
        (
            "{ exact = 'acme/eu' }",
            Require::Exact("acme/eu".to_owned()),
        ),
        ("{ policy = 'mine' }", Require::Policy("mine".to_owned())),
    ] {
        let table = format!("kind = 'scoped'\ninner = 'x'\nrequire = {word}");
        let SourceKind::Scoped { require: read, .. } = kind(&table) else {
            panic!("{table}")
        };
        assert!(read == require, "{table}");
    }
    let ignore = kind("kind = 'read_only'\ninner = 'x'\non_write = 'ignore'");
    assert!(matches!(
        ignore,
        SourceKind::ReadOnly {
            on_write: OnWrite::Ignore,
            ..
        }
    ));
}

#[test]
fn members_are_names_or_tables_at_any_depth() {
    let spec = read_one(
        "kind = 'composite'
         sources = [
             'handbook',
             { kind = 'read_only', inner = { kind = 'cached', inner = 'registry' }, on_write = 'ignore' },
             { kind = 'notes', name = 'words' },
         ]",
    )
    .unwrap();
    let SourceKind::Composite { sources, .. } = spec.kind else {
        panic!("it is one")
    };
    assert_eq!(sources[0], Member::Named("handbook".to_owned()));
    let Member::Inline(guarded) = &sources[1] else {
        panic!("it is a table")
    };
    let SourceKind::ReadOnly { inner, .. } = &guarded.kind else {
        panic!("it is read-only")
    };
    assert!(matches!(
        inner.as_ref(),
        Member::Inline(spec) if spec.kind.as_str() == "cached"
    ));
    assert!(matches!(
        &sources[2],
        Member::Inline(spec) if spec.name.as_deref() == Some("words")
    ));
}

#[test]
fn what_cannot_be_read_is_told_by_what_to_change() {
    let said: Vec<String> = [
        "store = 'default'",
        "kind = 'vectors'",
        "kind = 'file'\nstores = 'x'",
        "kind = 'file'\ncollection = 'x'",
        "kind = 'vector'\nindex = 'in_memory'\nembedder = 'x'",
        "kind = 'vector'\nindex = 'memory'",
        "kind = 'vector'\ndedupe = 'id'",
        "kind = 'vector'\nindex = 'in_memory'\nurl = 'http://x'",
        "kind = 'composite'",
        "kind = 'composite'\nsources = 'x'",
        "kind = 'composite'\nsources = [1]",
        "kind = 'composite'\nsources = ['x']\ndedupe = 'ids'",
        "kind = 'composite'\nsources = ['x']\nrerank = 'bm25'",
        "kind = 'composite'\nsources = ['x']\nleg_timeout_ms = -1",
        "kind = 'composite'\nsources = ['x']\nconcurrency = 'many'",
        "kind = 'sequential'\nsources = ['x']\nconcurrency = 2",
        "kind = 'scoped'",
        "kind = 'scoped'\ninner = 'x'\nrequire = 'prefix'",
        "kind = 'scoped'\ninner = 'x'\nrequire = 'tenant'",
        "kind = 'scoped'\ninner = 'x'\nrequire = { prefix = 'a', exact = 'b' }",
        "kind = 'scoped'\ninner = 'x'\nrequire = {}",
        "kind = 'scoped'\ninner = 'x'\nrequire = { tenant = 'a' }",
        "kind = 'scoped'\ninner = 'x'\nrequire = true",
        "kind = 'scoped'\ninner = 'x'\nname = 'guard'",
        "kind = 'read_only'\ninner = 'x'\non_write = 'drop'",
        "kind = 'tool'",
        "kind = 'tool'\nurl = 'http://x'\nactivity = 'y'",
        "kind = 'tool'\nurl = 'http://x'\ntask_queue = 'y'",
        "kind = 'tool'\nactivity = 'y'",
        "kind = 'tool'\nactivity = 'y'\ntask_queue = 'z'\nheaders_env = { a = 'B' }",
        "kind = 'tool'\nurl = 'http://x'\nstore = 'y'",
    ]
    .into_iter()
    .map(|table| {
        format!(
            "{}\n    {}",
            table.replace('\n', ", "),
            read_one(table).unwrap_err()
        )
    })
    .collect();
    insta::assert_snapshot!(said.join("\n"));
}

#[test]
fn neither_a_url_nor_a_tenant_is_shown() {
    let tool = kind("kind = 'tool'\nurl = 'https://me:hunter2@example.com/search'");
    assert!(!format!("{tool:?}").contains("hunter2"));
    let guard = kind("kind = 'scoped'\ninner = 'x'\nrequire = { prefix = 'acme' }");
    assert!(!format!("{guard:?}").contains("acme"));
}

#[test]
fn an_error_deep_in_a_tree_is_told_with_its_path() {
    let path = |table: &str| {
        let file = format!("[kb]\nkind = 'composite'\n{table}");
        let file = toml::Deserializer::parse(&file).unwrap();
        let read: Result<BTreeMap<String, SourceSpec>, _> = serde_path_to_error::deserialize(file);
        let error = read.unwrap_err();
        format!("{}: {}", error.path(), error.inner().message())
    };
    assert_eq!(
        path("dedupe = 'ids'\nsources = []").split(':').next(),
        Some("kb.dedupe")
    );
    assert_eq!(
        path(
            "sources = ['a', { kind = 'cached', inner = { kind = 'cached', inner = 'x', ttl_seconds = '1' } }]"
        ),
        "kb.sources[1].inner.ttl_seconds: invalid type: string \"1\", expected u64"
    );
    assert_eq!(
        path("sources = [{ kind = 'scoped', inner = 'x', require = { tenant = 'x' } }]"),
        "kb.sources[0].require.tenant: unknown field `tenant`, expected one of `prefix`, `exact`, `policy`"
    );
    assert_eq!(
        path("sources = [{ kind = 'read_only', inner = { kind = 'file', index = 'store' } }]"),
        "kb.sources[0].inner: `index` means nothing to a source of the kind `file`; leave it out"
    );
}

/// A value that each key may have.
const VALUES: [(&str, &str); 28] = [
    ("kind", ""),
    ("name", "'n'"),
    ("store", "'s'"),
    ("embedder", "'e'"),
    ("collection", "'c'"),
    ("index", "'store'"),
    ("conversation", "'c'"),
    ("url", "'http://localhost'"),
    ("headers_env", "{}"),
    ("network_is_trusted", "true"),
    ("scope_arg", "'s'"),
    ("timeout_seconds", "1"),
    ("activity", "'a'"),
    ("task_queue", "'q'"),
    ("query_arg", "'q'"),
    ("sources", "['x']"),
    ("dedupe", "'id'"),
    ("rerank", "'rrf'"),
    ("leg_timeout_ms", "1"),
    ("concurrency", "1"),
    ("inner", "'x'"),
    ("require", "'namespace'"),
    ("ttl_seconds", "1"),
    ("entries_max", "1"),
    ("chars_max", "100"),
    ("model", "'m'"),
    ("max_items", "1"),
    ("on_write", "'ignore'"),
];

#[test]
fn a_kind_takes_its_own_keys_and_no_others() {
    let kinds = [
        "vector",
        "file",
        "journal",
        "facts",
        "transcript",
        "notes",
        "hybrid",
        "scratchpad",
        "tool",
        "composite",
        "sequential",
        "scoped",
        "cached",
        "compacted",
        "read_only",
    ];
    let all = read_one("kind = 'file'\nno_such_key = 1").unwrap_err();
    for kind in kinds {
        let keys = source_keys(kind).expect("a kind");
        for (key, value) in VALUES {
            assert!(all.contains(&format!("`{key}`")), "{key}");
            // Of a tool either is needed, and the other is out of place.
            let needed = match kind {
                "tool" if ["activity", "task_queue"].contains(&key) => {
                    "activity = 'a'\ntask_queue = 'q'"
                }
                "tool" => "url = 'http://localhost'",
                "composite" | "sequential" => "sources = ['x']",
                "scoped" | "cached" | "compacted" | "read_only" => "inner = 'x'",
                _ => "",
            };
            let given = match key == "kind" || needed.contains(&format!("{key} = ")) {
                true => String::new(),
                false => format!("{key} = {value}"),
            };
            let read = read_one(&format!("kind = '{kind}'\n{needed}\n{given}"));
            assert_eq!(read.is_ok(), keys.contains(&key), "{kind}, {key}: {read:?}");
        }
        assert!(
            keys.iter().all(|key| all.contains(&format!("`{key}`"))),
            "{kind}"
        );
    }
    assert_eq!(all.matches('`').count() / 2 - 1, VALUES.len());
}
