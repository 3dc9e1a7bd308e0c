"""The paper's model: ordered balls as a sequence of tokens, C learned CLS tokens as z, an autoregressive decoder."""
