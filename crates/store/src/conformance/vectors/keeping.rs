//! Keeping, replacing, listing and removing chunks.

use notekeeper_domain::{ITEM_ID_BYTES_MAX, ITEM_METADATA_BYTES_MAX, ITEM_METADATA_LEVELS_MAX};
use serde_json::{Value, json};

use super::of_collection::{Collection, chunk, described, metadata_of};
use crate::{
    CHUNKS_KEPT_MAX, COLLECTION_BYTES_MAX, Chunk, EMBEDDING_DIMENSIONS_MAX, MARK_BYTES_MAX,
    MODEL_BYTES_MAX, VectorStore,
};

pub(super) async fn exercise(store: &dyn VectorStore) {
    what_is_kept_comes_back(&Collection::new(store, "v/back")).await;
    a_chunk_takes_the_place_of_the_one_with_its_id(&Collection::new(store, "v/place")).await;
    of_two_with_one_id_the_later_counts(&Collection::new(store, "v/later")).await;
    marks_are_listed_by_code_point(&Collection::new(store, "v/marks")).await;
    removed_chunks_are_gone(&Collection::new(store, "v/removed")).await;
    keeping_nothing_changes_nothing(&Collection::new(store, "v/nothing")).await;
    a_chunk_of_another_model_is_not_found(&Collection::new(store, "v/model")).await;
    the_largest_are_kept(store).await;
}

/// Texts that something could take for syntax, fold, trim or shorten.
const TEXTS: [&str; 12] = [
    "",
    " ",
    "\n\ta\r\n",
    "'; drop table chunks; --",
    "$1 {0} %s",
    "\\u0041\\",
    "\"a\",[1]",
    "caf\u{e9}",
    "cafe\u{301}",
    "\u{1f469}\u{200d}\u{1f469}",
    "\u{feff}x\u{200b}",
    "null",
];

async fn what_is_kept_comes_back(collection: &Collection<'_>) {
    let values = json!({
        "text": "a", "empty": "", "fraction": 1.0, "integer": 1, "small": 1e-7, "large": 1e300,
        "tenth": 0.1, "third": 0.333_333_333_333_333_3, "most": u64::MAX, "least": i64::MIN,
        "true": true, "false": false, "null": null, "list": [1, 1.0, "1", [], {}, null],
        "object": {"b": {"a": [2]}, "a": 1}, "": "empty key", " k ": "\u{e9}", "k\"'\\%_$1": "\"'\\%_$1",
        "lines": "a\nb\tc",
    });
    let mut chunks = vec![described("values", &[1.0, 0.0], values)];
    for (index, text) in TEXTS.into_iter().enumerate() {
        let described = described(
            &format!("text {index}"),
            &[1.0, 0.0],
            json!({ "text": text }),
        );
        chunks.push(Chunk {
            content: text.to_owned(),
            mark: Some(text.to_owned()),
            ..described
        });
    }
    collection.put(&chunks).await;
    let found = collection.found(&[1.0, 0.0], json!({}), 100).await;
    assert_eq!(found.len(), chunks.len());
    let marks = collection.marks().await;
    for chunk in &chunks {
        let of_id = found.iter().find(|found| found.id == chunk.id);
        let of_id = of_id.expect("each chunk is found under its id");
        assert_eq!(
            of_id.content, chunk.content,
            "contents come back as they are"
        );
        assert_eq!(
            Value::Object(of_id.metadata.to_object()).to_string(),
            Value::Object(chunk.metadata.to_object()).to_string(),
            "metadata come back as they are, to the last digit"
        );
        assert!(
            marks.contains(&(chunk.id.clone(), chunk.mark.clone())),
            "marks come back as they are"
        );
    }
}

async fn a_chunk_takes_the_place_of_the_one_with_its_id(collection: &Collection<'_>) {
    let first = Chunk {
        mark: Some("1".to_owned()),
        ..described("a", &[1.0, 0.0], json!({"tier": "old", "gone": true}))
    };
    collection.put(&[first, chunk("b", &[0.6, 0.8])]).await;
    let second = Chunk {
        content: "new".to_owned(),
        ..described("a", &[0.0, 1.0], json!({"tier": "new"}))
    };
    collection.put(std::slice::from_ref(&second)).await;
    let marks = [("a".to_owned(), None), ("b".to_owned(), None)];
    assert_eq!(
        collection.marks().await,
        marks,
        "there is one chunk of an id, with its last mark"
    );
    let found = collection.found(&[0.0, 1.0], json!({}), 10).await;
    assert_eq!(found.len(), 2, "there is one chunk of an id");
    assert_eq!(
        (
            found[0].id.as_str(),
            found[0].content.as_str(),
            &found[0].metadata
        ),
        ("a", "new", &second.metadata),
        "a chunk that is kept again is found as it is now"
    );
    let old = collection.matching(&[1.0, 0.0], json!({"gone": true}), 10);
    assert_eq!(old.await, [""; 0], "nothing is left of the one before");
}

async fn of_two_with_one_id_the_later_counts(collection: &Collection<'_>) {
    let twice = [
        chunk("b", &[1.0, 0.0]),
        described("a", &[1.0, 0.0], json!({"n": 1})),
        described("a", &[0.0, 1.0], json!({"n": 2})),
    ];
    collection.put(&twice).await;
    assert_eq!(collection.ids(&[0.0, 1.0], 10).await, ["a", "b"]);
    let later = collection.matching(&[1.0, 0.0], json!({"n": 2}), 10).await;
    assert_eq!(later, ["a"], "of two with one id the later counts");
}

async fn marks_are_listed_by_code_point(collection: &Collection<'_>) {
    let ids = [
        " a",
        "%",
        "A",
        "B",
        "_",
        "a",
        "a b",
        "a-b",
        "a.b",
        "ab",
        "b",
        "\u{e9}",
        "\u{ff5e}",
        "\u{1f600}",
    ];
    let mut chunks: Vec<Chunk> = ids.iter().map(|id| chunk(id, &[1.0, 0.0])).collect();
    chunks.reverse();
    collection.put(&chunks).await;
    assert_eq!(
        collection.all().await,
        ids,
        "ids ascend by code point, and each is its own"
    );
    let marked = Chunk {
        mark: Some("7".to_owned()),
        ..chunk("a", &[1.0, 0.0])
    };
    collection.put(&[marked]).await;
    let marks = collection.marks().await;
    assert_eq!(marks[5], ("a".to_owned(), Some("7".to_owned())));
    assert_eq!(marks[6], ("a b".to_owned(), None));
}

async fn removed_chunks_are_gone(collection: &Collection<'_>) {
    let all = ["a", "b", "a_", "a%", "c"].map(|id| chunk(id, &[1.0, 0.0]));
    collection.put(&all).await;
    collection.remove(&["a_", "absent", "c", "c"]).await;
    assert_eq!(
        collection.all().await,
        ["a", "a%", "b"],
        "what is removed is gone, and nothing else"
    );
    assert_eq!(
        collection.ids(&[1.0, 0.0], 10).await,
        ["a", "a%", "b"],
        "those that are as near come by id"
    );
    collection.remove(&["a%", "_", "%", "a\0"]).await;
    assert_eq!(collection.all().await, ["a", "b"]);
    collection.remove(&[]).await;
    collection.remove(&["c"]).await;
    assert_eq!(collection.all().await, ["a", "b"]);
    collection.put(&[chunk("c", &[1.0, 0.0])]).await;
    assert_eq!(collection.all().await, ["a", "b", "c"]);
}

async fn keeping_nothing_changes_nothing(collection: &Collection<'_>) {
    collection.put(&[]).await;
    assert_eq!(collection.all().await, [""; 0]);
    assert_eq!(collection.ids(&[1.0], 10).await, [""; 0]);
    collection.remove(&["a"]).await;
}

async fn a_chunk_of_another_model_is_not_found(collection: &Collection<'_>) {
    let newer = collection.with("main", "model-2");
    collection
        .put(&[chunk("a", &[1.0, 0.0]), chunk("b", &[1.0, 0.0])])
        .await;
    assert_eq!(
        newer.ids(&[1.0, 0.0], 10).await,
        [""; 0],
        "chunks of another model aren't found"
    );
    assert_eq!(newer.all().await, [""; 0], "nor are they listed");
    newer.put(&[chunk("a", &[0.0, 1.0, 0.0])]).await;
    assert_eq!(newer.ids(&[0.0, 1.0, 0.0], 10).await, ["a"]);
    assert_eq!(
        (
            collection.all().await,
            collection.ids(&[1.0, 0.0], 10).await
        ),
        (vec!["b".to_owned()], vec!["b".to_owned()]),
        "a chunk that is kept again takes the place of one of another model"
    );
    newer.remove(&["a", "b"]).await;
    assert_eq!(
        collection.all().await,
        [""; 0],
        "what is removed goes, whatever model made it"
    );
}

async fn the_largest_are_kept(store: &dyn VectorStore) {
    let (name, model) = (
        "n".repeat(COLLECTION_BYTES_MAX),
        "m".repeat(MODEL_BYTES_MAX),
    );
    let collection = Collection::new(store, "v/largest").with(&name, &model);
    let room = ITEM_METADATA_BYTES_MAX - r#"{"a":""}"#.len();
    let embedding = vec![0.5; EMBEDDING_DIMENSIONS_MAX];
    let largest = Chunk {
        content: "x".repeat(1 << 20),
        mark: Some("7".repeat(MARK_BYTES_MAX)),
        ..described(
            &"i".repeat(ITEM_ID_BYTES_MAX),
            &embedding,
            json!({"a": "x".repeat(room)}),
        )
    };
    let deep = (1..ITEM_METADATA_LEVELS_MAX).fold(json!([1]), |inner, _| json!([inner]));
    let deep = Chunk {
        metadata: metadata_of(json!({ "a": deep })),
        ..chunk("deep", &embedding)
    };
    collection.put(&[largest.clone(), deep.clone()]).await;
    let found = collection.found(&embedding, json!({}), 10).await;
    for (found, kept) in found.iter().zip([&deep, &largest]) {
        assert_eq!(found.id, kept.id);
        assert!(found.content == kept.content && found.metadata == kept.metadata);
    }
    let many: Vec<Chunk> = (0..CHUNKS_KEPT_MAX)
        .map(|index| chunk(&format!("{index:04}"), &[1.0]))
        .collect();
    collection.put(&many).await;
    assert_eq!(collection.all().await.len(), CHUNKS_KEPT_MAX + 2);
    assert_eq!(
        collection.ids(&[1.0], usize::MAX).await.len(),
        CHUNKS_KEPT_MAX
    );
}
