"""Measurements for users: the cost of memory at a size, the quality of recall, what years of talk leave
right, the thresholds that fit.

``moechat bench`` and ``moechat calibrate`` run these. What only we measure, MoeChat beside other ways and its parts by
themselves, lies in ``benchmarks/`` and is not installed.
"""
