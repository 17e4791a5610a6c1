"""Writes spectra of four made-up proteins in the format mzML into the file named by the argument: survey scans while
they come and go, and scans of the fragments of those that are high."""
import base64
import math
import sys

import numpy as np

NEUTRON, PROTON = 1.00335, 1.007276
PROTEINS = ((8559.6, range(7, 12), 1e5, 6), (12351.3, range(9, 15), 6e4, 9), (5729.6, range(4, 8), 8e4, 12),
            (15117.0, range(12, 18), 5e4, 7))  # Daltons, charges, height, the cycle of its maximum
CYCLES = 18
MINUTE = 'unitCvRef="UO" unitAccession="UO:0000031" unitName="minute"'


def isotopes(mass, charge, height):
    """Positions and heights of the isotopes: 44 carbons for a thousand Daltons, one in 93 of them heavier by one."""
    carbons, share, k = int(mass * 0.0444), 0.0107, np.arange(30)
    ways = np.array([math.lgamma(carbons + 1) - math.lgamma(n + 1) - math.lgamma(max(carbons - n, 0) + 1) for n in k])
    heights = np.exp(ways + k * math.log(share) + (carbons - k) * math.log(1 - share)) * (k <= carbons)
    seen = heights > heights.max() * 0.02
    return (mass + k[seen] * NEUTRON) / charge + PROTON, heights[seen] / heights.max() * height


def peaks(parts, random, low):
    """The isotopes of all parts with a little error, and noise, in order."""
    places, heights = [random.uniform(low, 1500, 150)], [random.uniform(50, 300, 150)]
    for part in parts:
        place, height = isotopes(*part)
        places.append(place + random.normal(0, 0.001, place.size))
        heights.append(height * random.uniform(0.9, 1.1, height.size))
    places, heights = np.concatenate(places), np.concatenate(heights)
    order = np.argsort(places)
    return places[order], heights[order]


def term(accession, name, value="", unit=""):
    return f'<cvParam cvRef="MS" accession="MS:{accession}" name="{name}" value="{value}" {unit}/>'


def numbers(values, accession, name):
    text = base64.b64encode(np.asarray(values, np.float64).tobytes()).decode()
    return (f'<binaryDataArray encodedLength="{len(text)}">{term(1000523, "64-bit float")}'
            f'{term(1000576, "no compression")}{term(accession, name)}<binary>{text}</binary></binaryDataArray>')


def scan(index, level, places, heights, source=""):
    kind = term(1000579, "MS1 spectrum") if level == 1 else term(1000580, "MSn spectrum")
    return (f'<spectrum index="{index}" id="controllerType=0 controllerNumber=1 scan={index + 1}" '
            f'defaultArrayLength="{places.size}">{term(1000511, "ms level", level)}{kind}'
            f'{term(1000130, "positive scan")}{term(1000127, "centroid spectrum")}'
            f'<scanList count="1">{term(1000795, "no combination")}<scan>'
            f'{term(1000016, "scan start time", f"{0.05 * index:.4f}", MINUTE)}</scan></scanList>{source}'
            f'<binaryDataArrayList count="2">{numbers(places, 1000514, "m/z array")}'
            f'{numbers(heights, 1000515, "intensity array")}</binaryDataArrayList></spectrum>')


def origin(survey, target, charge):
    return (f'<precursorList count="1"><precursor '
            f'spectrumRef="controllerType=0 controllerNumber=1 scan={survey + 1}"><isolationWindow>'
            f'{term(1000827, "isolation window target m/z", f"{target:.4f}")}'
            f'{term(1000828, "isolation window lower offset", 1.5)}'
            f'{term(1000829, "isolation window upper offset", 1.5)}</isolationWindow>'
            f'<selectedIonList count="1"><selectedIon>{term(1000744, "selected ion m/z", f"{target:.4f}")}'
            f'{term(1000041, "charge state", charge)}</selectedIon></selectedIonList>'
            f'<activation>{term(1000422, "beam-type collision-induced dissociation")}</activation>'
            '</precursor></precursorList>')


def scans():
    random, made = np.random.default_rng(0), []
    for cycle in range(CYCLES):
        parts = [(mass, charge, height * math.exp(-((cycle - best) / 2.5) ** 2
                                                  - ((charge - np.mean(charges)) / 1.5) ** 2))
                 for mass, charges, height, best in PROTEINS for charge in charges]
        survey = len(made)
        made.append(scan(survey, 1, *peaks([part for part in parts if part[2] > 300], random, 500)))
        for mass, charges, _, best in PROTEINS:
            if abs(cycle - best) > 1:
                continue
            charge = int(np.mean(charges))
            shares = np.random.default_rng(int(mass)).uniform(0.08, 0.95, 25)
            fragments = [(mass * share, max(1, int(charge * share)), 2e4 * random.uniform(0.2, 1)) for share in shares]
            target = (mass + 5 * NEUTRON) / charge + PROTON
            made.append(scan(len(made), 2, *peaks(fragments, random, 300), origin(survey, target, charge)))
    return made


if __name__ == "__main__":
    spectra = scans()
    with open(sys.argv[1], "w") as file:
        file.write('<?xml version="1.0" encoding="utf-8"?>\n<mzML xmlns="http://psi.hupo.org/ms/mzml" id="made" '
                   'version="1.1.0"><cvList count="2"><cv id="MS" fullName="PSI-MS" version="4.1" URI="none"/>'
                   '<cv id="UO" fullName="UO" version="1" URI="none"/></cvList><fileDescription><fileContent>'
                   f'{term(1000580, "MSn spectrum")}</fileContent></fileDescription><softwareList count="1">'
                   f'<software id="made" version="1">{term(1000799, "custom unreleased software tool")}</software>'
                   '</softwareList><instrumentConfigurationList count="1"><instrumentConfiguration id="first"/>'
                   '</instrumentConfigurationList><dataProcessingList count="1"><dataProcessing id="made">'
                   f'<processingMethod order="0" softwareRef="made">{term(1000544, "Conversion to mzML")}'
                   '</processingMethod></dataProcessing></dataProcessingList>'
                   '<run id="run" defaultInstrumentConfigurationRef="first">'
                   f'<spectrumList count="{len(spectra)}" defaultDataProcessingRef="made">\n')
        file.write("\n".join(spectra) + "\n</spectrumList></run></mzML>\n")
