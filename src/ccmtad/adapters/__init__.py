"""The detector as other libraries know detectors, one file for each; imported on demand.

from ccmtad.adapters.sklearn import CCMTAD
from ccmtad.adapters.river import CCMTAD
from ccmtad.adapters.sktime import CCMTAD
from ccmtad.adapters.aeon import CCMTAD
"""
