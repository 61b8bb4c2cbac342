//! Declaring agent workflows.

/// Declares a workflow type that is a whole conversation.
///
/// The namespace resolver is a plain function of the input: it runs once per run and must depend
/// on nothing else.
///
/// ```
/// use notekeeper_workflows::{AgentInput, agent_workflow};
///
/// agent_workflow! {
///     /// Talks to one customer.
///     pub struct SupportAgent = "SupportAgent", namespace: |input: &AgentInput| {
///         format!("customers/{}", input.attributes["customer"].as_str().unwrap_or_default())
///     };
/// }
/// ```
///
/// A resolver may answer with a `Result` ([`IntoNamespace`](crate::IntoNamespace)); its error ends the
/// run. Where the memories have namespaces of their own, `namespaces:` takes one that is asked for each
/// memory:
///
/// ```
/// use notekeeper_workflows::{AgentInput, MemorySettings, agent_workflow};
///
/// agent_workflow! {
///     /// Talks to one customer, and knows what the whole company may know.
///     pub struct CompanyAgent = "CompanyAgent", namespaces: |input: &AgentInput, memory: &MemorySettings| {
///         match memory.id.as_str() {
///             "company" => Ok("company".to_owned()),
///             _ => match input.attributes["customer"].as_str() {
///                 Some(customer) => Ok(format!("customers/{customer}")),
///                 None => Err("`attributes.customer` is missing"),
///             },
///         }
///     };
/// }
/// ```
///
/// The type has the update `send_message`, the queries `transcript`, `state` and `reply`, and the
/// signal `close`.
#[macro_export]
macro_rules! agent_workflow {
    ($(#[$attribute:meta])* $visibility:vis struct $name:ident = $wire:literal, namespace: $resolve:expr;) => {
        $crate::agent_workflow! {
            $(#[$attribute])*
            $visibility struct $name = $wire, namespaces: |input: &$crate::AgentInput, _: &$crate::MemorySettings| {
                ($resolve)(input)
            };
        }
    };
    ($(#[$attribute:meta])* $visibility:vis struct $name:ident = $wire:literal, namespaces: $resolve:expr;) => {
        $(#[$attribute])*
        #[::temporalio_macros::workflow]
        $visibility struct $name {
            agent: $crate::Agent,
        }

        impl $crate::AgentHost for $name {
            fn agent(&self) -> &$crate::Agent {
                &self.agent
            }

            fn agent_mut(&mut self) -> &mut $crate::Agent {
                &mut self.agent
            }
        }

        #[::temporalio_macros::workflow_methods]
        impl $name {
            #[init]
            fn new(
                view: &$crate::__private::WorkflowContextView,
                input: $crate::__private::Argument<$crate::AgentInput>,
            ) -> Self {
                Self {
                    agent: $crate::Agent::new(view, input, |input, memory| {
                        $crate::IntoNamespace::into_namespace(($resolve)(input, memory))
                    }),
                }
            }

            /// Runs until the conversation is closed.
            ///
            /// # Errors
            ///
            /// A typed failure where the input can't be used.
            #[run(name = $wire)]
            pub async fn run(
                ctx: &mut $crate::__private::WorkflowContext<Self>,
            ) -> $crate::__private::WorkflowResult<$crate::AgentOutput> {
                $crate::__private::run(ctx, $crate::__private::continue_with).await
            }

            #[update_validator(send_message)]
            fn admit_message(
                &self,
                _view: &$crate::__private::WorkflowContextView,
                message: &$crate::__private::Argument<$crate::SendMessage>,
            ) -> ::std::result::Result<(), ::std::boxed::Box<dyn ::std::error::Error + Send + Sync>>
            {
                Ok($crate::__private::admit(&self.agent, message)?)
            }

            /// Answers one message.
            ///
            /// # Errors
            ///
            /// A typed failure as its source; the conversation stays usable.
            #[update(name = "send_message")]
            pub async fn send_message(
                ctx: &mut $crate::__private::WorkflowContext<Self>,
                message: $crate::__private::Argument<$crate::SendMessage>,
            ) -> ::std::result::Result<
                $crate::Reply,
                ::std::boxed::Box<dyn ::std::error::Error + Send + Sync>,
            > {
                Ok($crate::__private::send_message(ctx, message).await?)
            }

            /// The conversation so far.
            #[query(name = "transcript")]
            pub fn transcript(
                &self,
                _view: &$crate::__private::WorkflowContextView,
            ) -> ::std::vec::Vec<$crate::__private::ChatMessage> {
                self.agent.transcript()
            }

            /// What there is to know of the run.
            #[query(name = "state")]
            pub fn state(
                &self,
                _view: &$crate::__private::WorkflowContextView,
            ) -> $crate::AgentState {
                self.agent.state()
            }

            /// What is known of the reply to the message with this id; nothing as long as it has none.
            #[query(name = "reply")]
            pub fn reply(
                &self,
                _view: &$crate::__private::WorkflowContextView,
                id: ::std::string::String,
            ) -> ::std::option::Option<$crate::KnownReply> {
                self.agent.reply(&id)
            }

            /// Asks the conversation to close once the messages taken are answered. What is sent
            /// along is ignored: a signal that can't be read would fail the workflow task for ever.
            #[signal(name = "close")]
            pub fn close(
                &mut self,
                _ctx: &mut $crate::__private::SyncWorkflowContext<Self>,
                _ignored: $crate::__private::Argument<()>,
            ) {
                self.agent.close();
            }
        }
    };
}
