//! What a namespace resolver may answer.

use std::fmt::Display;

/// A namespace, or why there is none: what a resolver answers.
///
/// ```
/// use notekeeper_workflows::{MemorySettings, OpenError, Session};
///
/// let customer = |input: &Option<u32>| match input {
///     Some(number) => Ok(format!("customers/{number}")),
///     None => Err("the input names no customer"),
/// };
/// let session = Session::new();
/// let memory = session.open(MemorySettings::default(), &Some(17), customer)?;
/// assert_eq!(memory.scope().as_str(), "customers/17/main");
/// let failed = Session::new().open(MemorySettings::default(), &None, customer);
/// assert!(matches!(failed, Err(OpenError::Resolver(_))));
/// # Ok::<(), OpenError>(())
/// ```
pub trait IntoNamespace {
    /// The namespace.
    ///
    /// # Errors
    ///
    /// Why the resolver found none. The run ends with it, so it must hold no content or name.
    fn into_namespace(self) -> Result<String, String>;
}

impl IntoNamespace for String {
    fn into_namespace(self) -> Result<String, String> {
        Ok(self)
    }
}

impl IntoNamespace for &str {
    fn into_namespace(self) -> Result<String, String> {
        Ok(self.to_owned())
    }
}

impl<N: IntoNamespace, E: Display> IntoNamespace for Result<N, E> {
    fn into_namespace(self) -> Result<String, String> {
        self.map_err(|error| error.to_string())
            .and_then(IntoNamespace::into_namespace)
    }
}
