"""The learned part: ordered balls to z and back."""

from geogae.model.autoencoder import Passes, SequentialAutoencoder
from geogae.model.decoder import Decoded
from geogae.model.linear import LinearAutoencoder

__all__ = ["Decoded", "LinearAutoencoder", "Passes", "SequentialAutoencoder"]
