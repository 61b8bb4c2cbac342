//! Payloads that can't be read, and what is said of them: the place and what is expected there,
//! never what was found.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    num::NonZeroU64,
};

use notekeeper_contract::{
    AddMessagesInput, Argument, BadArgument, CallModelInput, LoadSnapshotInput, QuerySourceInput,
    ToolInput, WriteMemoryInput,
};
use notekeeper_domain::HistoryPolicy;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use temporalio_common_wasm::data_converters::{
    ActivitySerializationContext, GenericPayloadConverter as _, PayloadConversionError,
    PayloadConverter, SerializationContext, SerializationContextData,
};
use temporalio_protos::temporal::api::common::v1::Payload;

/// What every planted value holds.
const SECRET: &str = "hunter2";

/// A payload of this encoding.
fn payload(encoding: Option<&str>, data: &[u8]) -> Payload {
    let entry = |encoding: &str| ("encoding".to_owned(), encoding.as_bytes().to_vec());
    Payload {
        metadata: encoding.map(entry).into_iter().collect::<HashMap<_, _>>(),
        data: data.to_vec(),
        ..Payload::default()
    }
}

/// A payload of plain JSON, or of what claims to be.
pub(crate) fn plain(json: &str) -> Payload {
    payload(Some("json/plain"), json.as_bytes())
}

fn with_context<R>(run: impl FnOnce(&PayloadConverter, &SerializationContext<'_>) -> R) -> R {
    let converter = PayloadConverter::default();
    let data = SerializationContextData::Activity(ActivitySerializationContext::new());
    run(&converter, &SerializationContext::new(&data, &converter))
}

/// Reads payloads as the SDK does for an activity of one argument.
pub(crate) fn decode<T>(payloads: Vec<Payload>) -> Result<T, BadArgument>
where
    T: Serialize + DeserializeOwned + 'static,
{
    let argument: Argument<T> =
        with_context(|converter, context| converter.from_payloads(context, payloads))
            .expect("an argument accepts any payload");
    argument.decoded()
}

#[track_caller]
fn complaint<T: Serialize + DeserializeOwned + 'static>(payloads: Vec<Payload>) -> String {
    let error = decode::<T>(payloads)
        .err()
        .expect("it can't be read")
        .to_string();
    assert!(!error.contains(SECRET), "{error}");
    error
}

fn write(change: impl FnOnce(&mut Value)) -> Vec<Payload> {
    let mut input = json!({"scope": {"namespace": "acme"}, "content": "x"});
    change(&mut input);
    vec![plain(&input.to_string())]
}

#[test]
fn an_argument_is_plain_json_both_ways() {
    let input = json!({"scope": {"namespace": "acme"}, "content": "a\u{0}b\u{1f600}\"\\"});
    let value: WriteMemoryInput = serde_json::from_value(input).unwrap();
    let argument = Argument::from(value.clone());
    let payload =
        with_context(|converter, context| converter.to_payload(context, &argument)).unwrap();
    assert_eq!(payload.metadata["encoding"], b"json/plain");
    let json: Value = serde_json::from_slice(&payload.data).unwrap();
    assert_eq!(json, serde_json::to_value(&value).unwrap());
    assert_eq!(decode::<WriteMemoryInput>(vec![payload]), Ok(value));
}

#[test]
fn an_argument_that_could_not_be_read_is_not_sent_on() {
    let argument: Argument<WriteMemoryInput> = with_context(|converter, context| {
        converter.from_payloads(context, vec![plain("{}")]).unwrap()
    });
    let sent = with_context(|converter, context| converter.to_payload(context, &argument));
    assert!(matches!(
        sent,
        Err(PayloadConversionError::EncodingError(_))
    ));
}

#[test]
fn wrong_types_are_told_by_place_and_expectation() {
    let secret = json!(SECRET);
    let complaints = [
        complaint::<WriteMemoryInput>(write(|w| w["scope"] = secret.clone())),
        complaint::<WriteMemoryInput>(write(|w| w["scope"]["namespace"] = json!({SECRET: 1}))),
        complaint::<WriteMemoryInput>(write(|w| w["content"] = json!([SECRET]))),
        complaint::<WriteMemoryInput>(write(|w| w["content"] = json!(null))),
        complaint::<WriteMemoryInput>(write(|w| w["operation"] = secret.clone())),
        complaint::<WriteMemoryInput>(write(|w| w["operation"] = json!({"id": 1}))),
        complaint::<WriteMemoryInput>(write(|w| w["max_memory_size"] = secret.clone())),
        complaint::<WriteMemoryInput>(write(|w| w["max_memory_size"] = json!(-4711))),
        complaint::<WriteMemoryInput>(write(|w| w["max_memory_size"] = json!(1.5))),
        complaint::<WriteMemoryInput>(write(|w| w["max_memory_size"] = json!(1e40))),
        complaint::<LoadSnapshotInput>(vec![plain(
            &json!({"memories": [{"scope": {"agent_name": "main"}}, {"scope": {"agent_name": "main"}, "delivery": SECRET}]}).to_string(),
        )]),
        complaint::<CallModelInput>(vec![plain(
            &json!({"messages": [{"role": SECRET, "content": SECRET}]}).to_string(),
        )]),
        complaint::<CallModelInput>(vec![plain(
            &json!({"messages": [{"role": "user", "content": {SECRET: SECRET}}]}).to_string(),
        )]),
        complaint::<CallModelInput>(vec![plain(
            &json!({"messages": [], "memories": [{"delivery": "inline", "text": SECRET}]})
                .to_string(),
        )]),
    ];
    insta::assert_snapshot!(complaints.join("\n"));
}

/// A field of each kind that serde has words of its own for.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct EveryKind {
    text: String,
    flag: bool,
    count: usize,
    small: u8,
    signed: i64,
    ratio: f64,
    not_zero: Option<NonZeroU64>,
    list: Vec<String>,
    pair: (u8, u8),
    map: BTreeMap<String, u8>,
    object: Box<Option<EveryKind>>,
    nothing: (),
    choice: Option<Choice>,
    tagged: Option<Tagged>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Choice {
    Plain,
    With { count: usize },
    Of(Vec<u8>),
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Tagged {
    Listed { items: Vec<String> },
}

#[test]
fn every_kind_of_value_is_expected_in_the_words_of_json() {
    let others = [
        json!(null),
        json!(true),
        json!(-1),
        json!(0.5),
        json!(1e300),
        json!(SECRET),
        json!([[SECRET]]),
        json!({"key": [SECRET]}),
    ];
    let inside = [
        json!({"choice": {"with": {"count": SECRET}}}),
        json!({"choice": {"with": [SECRET]}}),
        json!({"choice": {"of": SECRET}}),
        json!({"choice": {"plain": SECRET}}),
        json!({"choice": {}}),
        json!({"choice": {"plain": null, "of": []}}),
        json!({"tagged": {"kind": 7}}),
        json!({"tagged": {"kind": "listed", "items": SECRET}}),
        json!({"tagged": {"kind": SECRET}}),
        json!({"tagged": {}}),
    ];
    let fields = json!(EveryKind::default());
    let fields = fields.as_object().unwrap().keys();
    let wrong = fields.flat_map(|field| others.iter().map(move |other| json!({field: other})));
    let complaints: BTreeSet<String> = wrong
        .chain(inside)
        .filter_map(|wrong| {
            let payload = plain(&wrong.to_string());
            let error = decode::<EveryKind>(vec![payload]).err()?.to_string();
            assert!(!error.contains(SECRET), "{error}");
            Some(error)
        })
        .collect();
    insta::assert_snapshot!(Vec::from_iter(complaints).join("\n"));
}

#[test]
fn a_value_that_imitates_an_error_message_is_not_quoted() {
    let imitations = [
        format!("expected {SECRET}"),
        format!(", expected {SECRET}"),
        format!("expected {SECRET} at line 1 column 2"),
        format!("`, expected {SECRET} at line 3"),
        format!("missing field {SECRET}"),
        format!("\"`, expected {SECRET} at line 1 column 60"),
    ];
    for value in imitations {
        complaint::<WriteMemoryInput>(write(|w| w["scope"] = json!(value)));
        complaint::<WriteMemoryInput>(write(|w| w["max_memory_size"] = json!(value)));
        complaint::<LoadSnapshotInput>(vec![plain(
            &json!({"memories": [{"scope": {"agent_name": "main"}, "delivery": value}]})
                .to_string(),
        )]);
        complaint::<CallModelInput>(vec![plain(
            &json!({"messages": [{"role": value}]}).to_string(),
        )]);
        complaint::<CallModelInput>(vec![plain(
            &json!({"messages": [{"role": "tool", "tool_call_id": "", "content": "", "is_error": value}]}).to_string(),
        )]);
    }
}

#[test]
fn text_that_is_no_json_is_told_by_its_position() {
    let complaints = [
        complaint::<WriteMemoryInput>(vec![plain("")]),
        complaint::<WriteMemoryInput>(vec![plain(SECRET)]),
        complaint::<WriteMemoryInput>(vec![plain(&format!("{{\"content\": \"{SECRET}"))]),
        complaint::<WriteMemoryInput>(vec![plain(&format!(
            "{{\"content\": \"{SECRET}\\ud800\"}}"
        ))]),
        complaint::<WriteMemoryInput>(vec![plain(&format!(
            "{{\"content\": \"{SECRET}\\udc00x\"}}"
        ))]),
        complaint::<WriteMemoryInput>(vec![plain(&format!("{{\"content\": \"{SECRET}\u{0}\"}}"))]),
        complaint::<WriteMemoryInput>(vec![payload(
            Some("json/plain"),
            &[b"{\"content\": \"hunter2", &[0xff, 0xfe][..], b"\"}"].concat(),
        )]),
        complaint::<WriteMemoryInput>(vec![plain(&format!("{{}} {SECRET}"))]),
        complaint::<ToolInput>(vec![plain(&format!(
            "{{\"arguments\": {{\"{SECRET}\": [{{\"{SECRET}\": \"\\ud800\"}}]}}}}"
        ))]),
        complaint::<ToolInput>(vec![plain(&format!(
            "{{\"arguments\": {}",
            "[".repeat(200)
        ))]),
        complaint::<AddMessagesInput>(vec![plain(&format!(
            "{{\"messages\": [{{\"role\": \"user\"}}, {{\"{SECRET}\": \"\\ud800\"}}]}}"
        ))]),
    ];
    insta::assert_snapshot!(complaints.join("\n"));
}

#[test]
fn anything_but_one_json_object_is_told_so() {
    let object = || plain(&json!({"scope": {"agent_name": "main"}, "content": SECRET}).to_string());
    let data = object().data;
    let complaints = [
        complaint::<WriteMemoryInput>(Vec::new()),
        complaint::<WriteMemoryInput>(vec![object(), object()]),
        complaint::<WriteMemoryInput>(vec![payload(Some("binary/null"), b"")]),
        complaint::<WriteMemoryInput>(vec![plain("null")]),
        complaint::<WriteMemoryInput>(vec![plain(&json!(SECRET).to_string())]),
        complaint::<WriteMemoryInput>(vec![plain(
            &json!(["default", {}, null, SECRET]).to_string(),
        )]),
        complaint::<WriteMemoryInput>(vec![payload(Some("json/protobuf"), &data)]),
        complaint::<WriteMemoryInput>(vec![payload(Some("binary/plain"), &data)]),
        complaint::<WriteMemoryInput>(vec![payload(Some(SECRET), &data)]),
        complaint::<WriteMemoryInput>(vec![payload(None, &data)]),
        complaint::<WriteMemoryInput>(vec![plain(
            "{\"content\": \"hunter2\", \"content\": \"x\"}",
        )]),
        complaint::<WriteMemoryInput>(vec![plain(&format!(
            "{} {SECRET}",
            json!({"scope": {"agent_name": "main"}, "content": "x"})
        ))]),
    ];
    insta::assert_snapshot!(complaints.join("\n"));
}

#[test]
fn nul_and_control_characters_in_text_are_read_as_they_are() {
    let text = "a\u{0}b\u{1}\u{1f}\u{7f}";
    let input: WriteMemoryInput = decode(write(|w| w["content"] = json!(text))).unwrap();
    assert_eq!(input.content, text);
}

#[test]
fn white_space_around_the_object_is_accepted() {
    let json = json!({"scope": {"agent_name": "main"}, "content": "x"});
    assert!(decode::<WriteMemoryInput>(vec![plain(&format!("\n {json}\r\n\t"))]).is_ok());
}

#[test]
fn unknown_keys_are_passed_over_unless_one_asks_and_told_only_where_they_look_like_names() {
    let asked = |json: Value| {
        let payload = plain(&json.to_string());
        let argument: Argument<WriteMemoryInput> =
            with_context(|converter, context| converter.from_payload(context, payload))
                .expect("an argument accepts any payload");
        assert!(argument.as_decoded().is_ok());
        argument.check_keys().map_err(|error| error.to_string())
    };
    assert_eq!(
        asked(json!({"scope": {"agent_name": "main"}, "content": SECRET})),
        Ok(())
    );
    assert_eq!(
        asked(json!({"scope": {"agent_name": "main"}, "content": SECRET, "fille": SECRET})),
        Err("`fille` is no known field; did you mean `file`?".to_owned())
    );
    let odd = asked(
        json!({"scope": {"agent_name": "main"}, "content": "x", "hunter2 is my password": 1}),
    );
    assert_eq!(
        odd,
        Err("a key is no known field; correct or remove it".to_owned())
    );
}

#[test]
fn where_no_key_may_be_passed_over_the_value_is_looked_at_first() {
    let asked = |json: Value| {
        let payload = plain(&json.to_string());
        let argument: Argument<QuerySourceInput> =
            with_context(|converter, context| converter.from_payload(context, payload))
                .expect("an argument accepts any payload");
        let read = argument.decoded_whole();
        read.map(|input| input.k).map_err(|error| error.to_string())
    };
    let scope = json!({"namespace": "acme"});
    let fine =
        json!({"source": "s", "scope": scope, "where": {"wehre": 1}, "scratchpad": {"x": 1}});
    assert_eq!(asked(fine), Ok(5));
    for (more, said) in [
        (
            json!({"wehre": {"tier": SECRET}}),
            "`wehre` is no known field; did you mean `where`?",
        ),
        (
            json!({"scope": {"namespace": SECRET, "xyz": SECRET}, "wehre": {}}),
            "at `scope`: expected `namespace` or `agent_name`",
        ),
        (
            json!({"scope": {}, "wehre": {}}),
            "at `scope`: names nothing; give `namespace`, or `agent_name` for notes without a namespace",
        ),
    ] {
        let mut input = json!({"source": "s", "scope": scope});
        let fields = input.as_object_mut().unwrap();
        fields.extend(more.as_object().unwrap().clone());
        assert_eq!(asked(input), Err(said.to_owned()));
    }
}

#[test]
fn a_misspelt_namespace_is_refused_and_never_taken_for_none() {
    let misspelt = plain(&json!({"scope": {"namespce": SECRET}, "content": SECRET}).to_string());
    assert_eq!(
        complaint::<WriteMemoryInput>(vec![misspelt]),
        "at `scope`: expected `namespace` or `agent_name`; did you mean `namespace`?"
    );
}

#[test]
fn an_unknown_key_of_a_scope_may_be_a_namespace_and_is_not_told() {
    for key in [SECRET, "customers/hunter2", "hunter2.a[0].b", ".hunter2."] {
        let scope = json!({ key: "main" });
        let written = complaint::<WriteMemoryInput>(write(|w| w["scope"] = scope.clone()));
        assert_eq!(written, "at `scope`: expected `namespace` or `agent_name`");
        let second = json!({"memories": [{"scope": {"agent_name": "main"}}, {"scope": scope}]});
        let loaded = complaint::<LoadSnapshotInput>(vec![plain(&second.to_string())]);
        assert_eq!(
            loaded,
            "at `memories[1].scope`: expected `namespace` or `agent_name`"
        );
    }
}

#[test]
fn write_metadata_that_is_no_object_of_strings_is_told_without_a_key_of_it() {
    let fixed = |fixed: Value| {
        complaint::<WriteMemoryInput>(write(|w| w["write_metadata"] = json!({"fixed": fixed})))
    };
    let expected = "at `write_metadata.fixed`: expected an object whose values are strings";
    for wrong in [
        json!({SECRET: 1}),
        json!({SECRET: null}),
        json!({SECRET: {"b": SECRET}}),
        json!({"a": "x", SECRET: [SECRET]}),
        json!([SECRET]),
        json!(SECRET),
        json!(4711),
    ] {
        assert_eq!(fixed(wrong), expected);
    }
}

/// A part of a workflow's input.
#[derive(Debug, Serialize, Deserialize)]
struct WithHistory {
    history: Vec<HistoryPolicy>,
}

#[test]
fn an_entry_of_a_history_is_exactly_one_policy() {
    let told = |entry: Value| {
        let input = plain(&json!({"history": [{"window": {"turns": 3}}, entry]}).to_string());
        complaint::<WithHistory>(vec![input])
    };
    let window = json!({"turns": 3});
    for wrong in [
        json!({}),
        json!({"window": window, "tokens": {"max_tokens": 9}}),
        json!({"window": null}),
        json!(SECRET),
        json!("window"),
        json!([window]),
        json!(7),
        json!(null),
    ] {
        assert_eq!(
            told(wrong),
            "at `history[1]`: expected an object with exactly one of `window`, `tokens` and `summary`"
        );
    }
    assert_eq!(
        told(json!({"windw": window})),
        "at `history[1]`: expected one of `window`, `tokens`, `summary`; did you mean `window`?"
    );
    assert_eq!(
        told(json!({"window": {"turns": SECRET}})),
        "at `history[1].window.turns`: expected a whole number of 0 or more"
    );
    let policies = json!([{"tokens": {"max_tokens": 9}}, {"summary": {"over_messages": 9}}]);
    let input = plain(&json!({"history": policies}).to_string());
    let read: WithHistory = decode(vec![input]).expect("policies");
    assert_eq!(json!(read.history), policies);
}

#[test]
fn write_metadata_comes_from_one_source() {
    let told =
        |source: Value| complaint::<WriteMemoryInput>(write(|w| w["write_metadata"] = source));
    let one = "at `write_metadata`: give `fixed` or `resolver`, one of them";
    assert_eq!(told(json!({})), one);
    assert_eq!(told(json!({"fixed": null, "resolver": null})), one);
    assert_eq!(
        told(json!({"fixed": {"a": SECRET}, "resolver": SECRET})),
        one
    );
    assert_eq!(
        told(json!({"fixd": {"a": SECRET}})),
        "at `write_metadata`: expected `fixed` or `resolver`; did you mean `fixed`?"
    );
    assert_eq!(
        told(json!({SECRET: "ui"})),
        "at `write_metadata`: expected `fixed` or `resolver`"
    );
    assert_eq!(
        told(json!({"resolver": [SECRET]})),
        "at `write_metadata.resolver`: expected a string"
    );
}

#[test]
fn a_scope_that_names_nothing_is_refused_and_never_taken_for_the_root() {
    let nothing = plain(&json!({"scope": {}, "content": SECRET}).to_string());
    assert_eq!(
        complaint::<WriteMemoryInput>(vec![nothing]),
        "at `scope`: names nothing; give `namespace`, or `agent_name` for notes without a namespace"
    );
}
