//! Arguments that can't be read become data, so that they can be answered with a typed failure.

use notekeeper_domain::{EXACTLY_ONE_POLICY, expected_in_json, meant, with_nearest};
use serde::{
    Serialize,
    de::{DeserializeOwned, IgnoredAny},
};
use temporalio_common_wasm::data_converters::{
    GenericPayloadConverter as _, PayloadConversionError, SerializationContext,
    TemporalDeserializable, TemporalSerializable,
};
use temporalio_protos::temporal::api::common::v1::Payload;

use crate::{UnknownKey, shared::EMPTY_SCOPE, write_metadata::ONE_SOURCE};

/// One JSON argument of an activity, a workflow or an update, read or not.
///
/// The SDK fails an activity whose input it can't read with an untyped failure that is retried
/// without end, and a workflow's task likewise. This type accepts any payload and keeps what was
/// wrong, so that the implementation can end with `InvalidArgument`.
#[derive(Debug, Clone)]
pub struct Argument<T> {
    decoded: Result<T, BadArgument>,
    /// The first key that the type has no field for.
    unknown: Option<UnknownKey>,
}

/// What is wrong with an argument: the place and what was expected there, never the value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadArgument(String);

impl<T> Argument<T> {
    /// The value, or what was wrong with the payload. Keys that the type has no field for are
    /// passed over: a newer caller may send more.
    ///
    /// # Errors
    ///
    /// [`BadArgument`] names the path and what was expected.
    pub fn decoded(self) -> Result<T, BadArgument> {
        self.decoded
    }

    /// As [`Argument::decoded`], by reference.
    ///
    /// # Errors
    ///
    /// As [`Argument::decoded`].
    pub fn as_decoded(&self) -> Result<&T, &BadArgument> {
        self.decoded.as_ref()
    }

    /// As [`Argument::decoded`], for types in which no key may be passed over.
    ///
    /// # Errors
    ///
    /// As [`Argument::decoded`] and [`Argument::check_keys`].
    pub fn decoded_whole(self) -> Result<T, BadArgument> {
        let keys = self.check_keys();
        let value = self.decoded?;
        keys.map(|()| value)
    }

    fn unreadable(error: BadArgument) -> Self {
        Self {
            decoded: Err(error),
            unknown: None,
        }
    }

    /// As [`Argument::decoded`], to change the value; `None` where there is none.
    pub fn as_decoded_mut(&mut self) -> Option<&mut T> {
        self.decoded.as_mut().ok()
    }

    /// The first key that the type has no field for.
    pub fn unknown_key(&self) -> Option<&UnknownKey> {
        self.unknown.as_ref()
    }

    /// Refuses keys that the type has no field for, where one may be a misspelt setting.
    ///
    /// # Errors
    ///
    /// [`BadArgument`] names the first such key and the field that was probably meant.
    pub fn check_keys(&self) -> Result<(), BadArgument> {
        self.unknown_key()
            .map_or(Ok(()), |key| Err(BadArgument(key.to_string())))
    }
}

impl<T> From<T> for Argument<T> {
    fn from(value: T) -> Self {
        Self {
            decoded: Ok(value),
            unknown: None,
        }
    }
}

impl<T: Serialize + 'static> TemporalSerializable for Argument<T> {
    fn to_payload(
        &self,
        context: &SerializationContext<'_>,
    ) -> Result<Payload, PayloadConversionError> {
        match &self.decoded {
            Ok(value) => context.converter.to_payload(context, value),
            Err(error) => Err(PayloadConversionError::EncodingError(Box::new(
                error.clone(),
            ))),
        }
    }
}

impl<T: DeserializeOwned + 'static> TemporalDeserializable for Argument<T> {
    fn from_payload(
        context: &SerializationContext<'_>,
        payload: Payload,
    ) -> Result<Self, PayloadConversionError> {
        Self::from_payloads(context, vec![payload])
    }

    fn from_payloads(
        _: &SerializationContext<'_>,
        payloads: Vec<Payload>,
    ) -> Result<Self, PayloadConversionError> {
        Ok(match payloads.as_slice() {
            [payload] => read(payload).unwrap_or_else(Self::unreadable),
            _ => Self::unreadable(BadArgument(format!(
                "expected one JSON object as the only argument, got {} arguments",
                payloads.len()
            ))),
        })
    }
}

fn read<T: DeserializeOwned>(payload: &Payload) -> Result<Argument<T>, BadArgument> {
    let encoding = payload
        .metadata
        .get("encoding")
        .map_or(&b""[..], Vec::as_slice);
    match encoding {
        b"json/plain" => {}
        b"binary/null" => return Err(BadArgument("expected a JSON object, got null".to_owned())),
        _ => {
            return Err(BadArgument(
                "payload is not encoded as `json/plain`; send one plain JSON object".to_owned(),
            ));
        }
    }
    // serde would take the items of an array for the fields of a struct, in their order.
    if payload.data.trim_ascii_start().first() == Some(&b'[') {
        return Err(BadArgument(
            "expected a JSON object, got an array".to_owned(),
        ));
    }
    read_json(&payload.data)
}

/// Reads the arguments of a tool call, which are to be a JSON object.
///
/// What is wrong is told to the model in the words of JSON, without the value. The items of an array are
/// taken for the fields, in their order: who offers tools refuses it before.
///
/// # Errors
///
/// [`BadArgument`] names the path, and what was expected or is unknown there.
pub fn read_tool_arguments<T: DeserializeOwned>(json: &str) -> Result<T, BadArgument> {
    let read: Result<T, serde_json::Error> = serde_json::from_str(json);
    match read {
        Ok(value) => Ok(value),
        // The model knows its own keys.
        Err(error) if error.to_string().starts_with("unknown field ") => Err(BadArgument(
            with_nearest(without_position(&error.to_string(), &error)),
        )),
        // Where it breaks off says enough: what it breaks off in was begun by the model.
        Err(error) if !error.is_data() => Err(BadArgument(describe(&error))),
        Err(_) => read_json::<T>(json.as_bytes())?.decoded(),
    }
}

fn read_json<T: DeserializeOwned>(data: &[u8]) -> Result<Argument<T>, BadArgument> {
    let mut json = serde_json::Deserializer::from_slice(data);
    let mut track = serde_path_to_error::Track::new();
    let mut unknown = None;
    let tracked = serde_path_to_error::Deserializer::new(&mut json, &mut track);
    let decoded = serde_ignored::deserialize(tracked, |path| {
        unknown.get_or_insert_with(|| UnknownKey::of::<T>(&path));
    });
    let value = decoded.map_err(|error| {
        let path = known_path(&track.path(), &error);
        let (place, complaint) = if is_no_variant(&error, data) {
            (
                place(&path, true),
                format!("expected {}", expected_in_json("string or map")),
            )
        } else {
            (place(&path, error.is_data()), describe(&error))
        };
        BadArgument(match place {
            Some(place) => format!("at `{place}`: {complaint}"),
            None => complaint,
        })
    })?;
    json.end()
        .map_err(|_| BadArgument("text follows the JSON object".to_owned()))?;
    Ok(Argument {
        decoded: Ok(value),
        unknown,
    })
}

/// The path to the error without a key that its object has no field for: such a key may be content,
/// a namespace for one.
fn known_path(path: &serde_path_to_error::Path, error: &serde_json::Error) -> String {
    let whole = path.to_string();
    if !error.to_string().starts_with("unknown field ") {
        return whole;
    }
    let Some(key) = path.iter().next_back().map(ToString::to_string) else {
        return whole;
    };
    let parent = whole.strip_suffix(&key).unwrap_or_default();
    parent.strip_suffix('.').unwrap_or(parent).to_owned()
}

/// Where the error is, as far as the contract names the place. `is_data` says whether the text is
/// JSON, if not of the right type.
///
/// Text that is no JSON may be so inside a free-form value, such as the arguments of a tool call,
/// whose keys are content; of such a place only the outermost field is told, and which of its items.
fn place(path: &str, is_data: bool) -> Option<String> {
    let place = match is_data {
        true => path,
        false => outermost(path),
    };
    // `.` is the whole, `?` a place that was never reached.
    (!matches!(place, "" | "." | "?")).then(|| place.to_owned())
}

/// The first field of a path, with the index behind it where there is one, such as `messages[3]`.
fn outermost(path: &str) -> &str {
    let field = path.split(['.', '[']).next().unwrap_or_default();
    let index = path[field.len()..].strip_prefix('[');
    let index = index.and_then(|rest| rest.split_once(']'));
    match index {
        Some((index, _)) if index.bytes().all(|b| b.is_ascii_digit()) => {
            &path[..field.len() + index.len() + "[]".len()]
        }
        _ => field,
    }
}

/// Whether a value can't be an enum, being a number or the like. `serde_json` says of it what it
/// says of text that is no JSON.
fn is_no_variant(error: &serde_json::Error, json: &[u8]) -> bool {
    error.is_syntax()
        && error.to_string().starts_with("expected value ")
        && serde_json::from_slice::<IgnoredAny>(json).is_ok()
}

/// Says what was expected without the value that was found: messages of serde quote it.
fn describe(error: &serde_json::Error) -> String {
    let message = error.to_string();
    if message.starts_with("recursion limit exceeded") {
        return TOO_DEEP.to_owned();
    }
    if !error.is_data() {
        // Messages about JSON syntax speak of positions and never of values.
        return format!("not valid JSON: {message}");
    }
    let message = without_position(&message, error);
    let quotes_nothing = [EMPTY_SCOPE, ONE_SOURCE, EXACTLY_ONE_POLICY].contains(&message)
        || message.starts_with("missing field")
        || message.starts_with("duplicate field");
    if quotes_nothing {
        return message.to_owned();
    }
    let names_the_expected = [
        "invalid type: ",
        "invalid value: ",
        "invalid length ",
        "unknown variant ",
        "unknown field ",
    ]
    .iter()
    .any(|start| message.starts_with(start));
    match message.rsplit_once(", expected ") {
        Some((_, expected)) if names_the_expected => match meant(message) {
            Some(key) => format!("expected {expected}; did you mean `{key}`?"),
            None => format!("expected {}", expected_in_json(expected)),
        },
        _ => "value is not acceptable".to_owned(),
    }
}

/// What is said of lists and objects that are too deep for a reader of JSON.
const TOO_DEEP: &str = "lists or objects stand in more levels than can be read, 127 altogether; keep what is so deep as a \
     JSON text";

/// The message without the place in the text, which is cut by its exact words: a value may hold words like
/// these.
fn without_position<'m>(message: &'m str, error: &serde_json::Error) -> &'m str {
    let position = format!(" at line {} column {}", error.line(), error.column());
    message.strip_suffix(&position).unwrap_or(message)
}
