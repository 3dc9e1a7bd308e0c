"""Every method and data set on the same splits, by the same metrics, with trivial baselines and the paper's scores.

One run, from plan to table: ``plan`` says what is to be run, ``folds`` gives its graphs, ``methods`` fits and decodes,
``runner`` measures, ``results`` keeps one line for each run, ``summary`` joins the seeds, ``tables`` and ``figures``
show them next to the numbers of ``paper``, and ``blocks`` puts tables into pages.
"""
