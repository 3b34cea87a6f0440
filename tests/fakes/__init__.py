"""Stand-ins for the outside world: a model server on loopback that speaks the OpenAI protocol."""
