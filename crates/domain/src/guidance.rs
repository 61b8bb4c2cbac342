//! Guidance: the trusted, static text for the model's instructions.

/// What the model is told about its notebook where the settings give no text of their own.
pub const DEFAULT_GUIDANCE: &str = "";

/// The guidance as it stands in the instructions: `## {heading}` before it where a heading is
/// set, cut to `chars_max`. `None` where there is nothing to say (`guidance` is `Some("")`).
pub fn rendered_guidance(
    guidance: Option<&str>,
    heading: &str,
    chars_max: usize,
) -> Option<String> {
    let _ = (guidance, heading, chars_max);
    todo!()
}
