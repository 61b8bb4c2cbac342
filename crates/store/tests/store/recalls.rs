//! What recalls answer of facts that change meanwhile, and of rows that no operation makes.

use notekeeper_domain::{ConversationId, Fact, FactKey, RecallQuery, Scope};
use notekeeper_store::{FactStore, TranscriptStore};
use sqlx::{AssertSqlSafe, Executor as _};

use crate::{
    database::{Database, scope},
    database_file::DatabaseFile,
    faults::within_patience,
    interleavings::remember,
    messages::{conversation, message},
    proxy::Proxy,
};

async fn keys(store: &impl FactStore, scope: &Scope, query: &str, limit: usize) -> Vec<String> {
    let found = store.recall(scope, &RecallQuery::parse(query), limit).await;
    let found = found.expect("recall").into_iter();
    found.map(|fact| fact.key).collect()
}

/// Values were let go, so all is read again, and by then there are too few that have a word.
#[tokio::test]
async fn facts_that_go_while_others_are_read_again_make_room_for_parts_of_words() {
    const LIMIT: usize = 25;
    let database = Database::migrated().await;
    let (proxy, direct) = (Proxy::start().await, database.store());
    let store = proxy.store(&database, 1);
    let mut behind = database.connection().await;
    let (one, large) = (scope("one/main"), scope("large/main"));
    // Of 64 KB each. Copies, because it takes long to make their terms.
    let filling = "\u{1f600}".repeat(16_000);
    for word in ["alpha", "beta"] {
        let fact = Fact::new(word, format!("{word} {filling}")).expect("a fact");
        direct.remember(&one, &fact, None).await.expect("remember");
    }
    for statement in [
        "insert into facts (scope, key, value, folded, terms, order_number) \
         select 'large/main', to_char(number, 'FM000'), value, folded, terms, number \
         from generate_series(0, 99) as number \
         join facts on scope = 'one/main' \
             and key = case when number < 40 then 'alpha' else 'beta' end",
        "insert into fact_terms (scope, term, key) \
         select scope, unnest(terms), key from facts where scope = 'large/main'",
    ] {
        behind.execute(statement).await.expect("copy");
    }
    for key in ["part 1", "part 2"] {
        remember(&direct, &large, (key, "xalphax"), None)
            .await
            .expect("remember");
    }
    // Also parses the statements, so that those of the second recall can be counted.
    let all = keys(&store, &large, "alpha beta", LIMIT).await;
    assert_eq!((all.len(), &*all[0]), (LIMIT, "039"));
    let going = async {
        for table in ["fact_terms", "facts"] {
            let going = format!(
                "delete from {table} where scope = 'large/main' and key between '003' and '099'"
            );
            behind.execute(AssertSqlSafe(going)).await.expect("delete");
        }
    };
    // The second statement begins the transaction that reads all again.
    let left = proxy.overtake(2, keys(&store, &large, "alpha beta", LIMIT), going);
    let (left, ()) = within_patience(left).await;
    assert_eq!(left, ["002", "001", "000", "part 2", "part 1"]);
}

/// Statements that make a good fact and odd ones, all with the same word, and odd conversations.
/// `TERMS` stands for how the database writes a list of that word.
const ODD_ROWS: &[&str] = &[
    "insert into facts (scope, key, value, folded, terms, order_number) values \
         ('odd/main', ' ', 'needle', 'needle', TERMS, 101), \
         ('odd/main', 'long', 'needle' || LONG, 'needle', TERMS, 102), \
         ('odd/main', LONG, 'needle', 'needle', TERMS, 103), \
         ('odd/main', 'zz', 'needle' || LONG, 'needle', TERMS, 104)",
    "insert into fact_terms (scope, term, key) \
     select scope, 'needle', key from facts where scope = 'odd/main' and key in (' ', 'long', 'zz')",
    "insert into conversations (scope, id, next) values ('odd/main', LONG, 1), ('odd/main', 'a' || LINE, 1), \
         ('odd/main', 'y' || LINE, 1), ('odd/main', 'zz' || LINE, 1)",
];

async fn assert_odd_rows_are_passed_over(store: &(impl FactStore + TranscriptStore)) {
    let scope = scope("odd/main");
    for limit in [1, 2, 3, 10] {
        for query in ["", "needle", "eedl"] {
            let found = keys(store, &scope, query, limit).await;
            let newest = &["zeal", "fine"][..limit.min(2)];
            assert_eq!(found, newest, "{query:?}, at most {limit}");
        }
        let mut seen: Vec<FactKey> = Vec::new();
        loop {
            let page = store.facts(&scope, seen.last(), limit).await.expect("list");
            assert!(page.facts.len() == limit || !page.more, "{page:?}");
            seen.extend(page.facts.into_iter().map(|listed| listed.fact.key));
            if !page.more {
                break;
            }
        }
        let seen: Vec<_> = seen.iter().map(FactKey::as_str).collect();
        assert_eq!(seen, ["fine", "zeal"], "at most {limit}");
        let mut seen: Vec<ConversationId> = Vec::new();
        loop {
            let page = store.conversations(&scope, seen.last(), limit).await;
            let page = page.expect("list");
            assert!(page.conversations.len() == limit || !page.more, "{page:?}");
            seen.extend(page.conversations.into_iter().map(|listed| listed.id));
            if !page.more {
                break;
            }
        }
        let seen: Vec<_> = seen.iter().map(ConversationId::as_str).collect();
        assert_eq!(seen, ["fine", "zeal"], "at most {limit}");
    }
}

async fn make_fine(store: &(impl FactStore + TranscriptStore)) {
    let scope = scope("odd/main");
    for name in ["fine", "zeal"] {
        remember(store, &scope, (name, "needle"), None)
            .await
            .expect("remember");
        store
            .add_messages(&scope, &conversation(name), &[message("hello")], None)
            .await
            .expect("add");
    }
}

#[tokio::test]
async fn facts_and_conversations_that_a_person_made_with_a_console_are_passed_over_in_postgres() {
    let database = Database::migrated().await;
    let store = database.store();
    make_fine(&store).await;
    let mut behind = database.connection().await;
    for statement in ODD_ROWS {
        let statement = statement.replace("TERMS", "array['needle']");
        let statement = statement.replace("LONG", "repeat('x ', 10000)");
        let statement = statement.replace("LINE", "chr(10)");
        // Where it is a key, an index has it: as long as one may be there.
        let statement = statement.replace("main', repeat('x ', 10000)", "main', repeat('x ', 500)");
        behind
            .execute(AssertSqlSafe(statement))
            .await
            .expect("insert");
    }
    assert_odd_rows_are_passed_over(&store).await;
}

#[tokio::test]
async fn facts_and_conversations_that_a_person_made_with_a_console_are_passed_over_in_sqlite() {
    let file = DatabaseFile::new();
    let store = file.store().await;
    make_fine(&store).await;
    let mut behind = file.connection().await;
    for statement in ODD_ROWS {
        let statement = statement.replace("TERMS", "'[\"needle\"]'");
        let statement = statement.replace("LONG", "replace(hex(zeroblob(10000)), '00', 'x ')");
        let statement = statement.replace("LINE", "char(10)");
        behind
            .execute(AssertSqlSafe(statement))
            .await
            .expect("insert");
    }
    assert_odd_rows_are_passed_over(&store).await;
}
