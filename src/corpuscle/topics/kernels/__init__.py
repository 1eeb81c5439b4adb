"""Compiled code of topic models.

- ``grams``: the n-grams of a text; ``seating``: restaurants of all topics over them; ``state``, ``check``: a sampler;
- ``token_sampler``, ``blocks`` with ``block_weights``: Gibbs sampling, word by word and block by block; ``prior``: of
  the topics;
- ``lda``: latent Dirichlet allocation; ``rescaled``: unigram rescaling; ``frozen``, ``particles``: prediction.
"""
